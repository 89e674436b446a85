// Asks before something is gone for good. Returns true if it may go.
function sure(question, yes, no = 'Keep it') {
  const dialog = element('dialog', undefined, { className: 'card sure' });
  const text = element('p', question, { id: 'sure-text', dir: 'auto' });
  const buttons = element('form', undefined, { method: 'dialog' });
  const [go, stay] = [element('button', yes, { value: 'yes', className: 'act gone' }), element('button', no, { value: 'no', className: 'act', autofocus: true })];
  buttons.append(go, stay);
  dialog.setAttribute('aria-labelledby', text.id);
  dialog.append(text, buttons);
  document.body.append(dialog);
  const before = document.activeElement;
  dialog.showModal();
  return new Promise((tell) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      before?.focus();
      tell(dialog.returnValue === 'yes');
    });
  });
}

// Asks before something happens for good, and sends it: with what is written in the field, if there is one. It stays open
// with what was wrong until it is done. Returns true if it was.
function confirmed({ question, yes, no = 'Keep it', field = '', type = 'text', send }) {
  const dialog = element('dialog', undefined, { className: 'card' });
  const text = element('p', question, { id: 'question', dir: 'auto' });
  const input = element('input', undefined, { type, autocomplete: 'off', maxLength: type === 'password' ? 200 : 2000, required: type === 'password' });
  const label = field && filled('label', [field, input]);
  const problem = element('p', '', { className: 'state error' });
  problem.setAttribute('role', 'alert');
  const go = element('button', yes, { className: 'act gone' });
  const stay = button(no, () => dialog.close(), { autofocus: !field });
  const form = filled('form', [text, label, problem, go, ' ', stay]);
  dialog.setAttribute('aria-labelledby', text.id);
  dialog.append(form);
  document.body.append(dialog);
  const before = document.activeElement;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      await send(input.value);
      dialog.close('done');
    } catch (error) {
      problem.textContent = error.message;
      go.disabled = false;
      if (field) input.select();
    }
  });
  dialog.showModal();
  return new Promise((tell) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      before?.focus();
      tell(dialog.returnValue === 'done');
    });
  });
}

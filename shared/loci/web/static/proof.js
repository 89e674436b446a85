// The proof that a person is here. It comes for their PIN, and this address keeps it for a quarter of an hour.
const PROOF = 'loci-proof';

// Sends what only a person may decide, and asks for the PIN if that is wanted.
async function asPerson(send) {
  for (;;) {
    try {
      return await send({ 'X-Loci-Proof': localStorage.getItem(PROOF) || '' });
    } catch (error) {
      if (error.answer?.error?.code !== 'PIN_NEEDED') throw error;
    }
    localStorage.removeItem(PROOF);
    if (!(await givePin())) throw new Error('Nothing was approved: that needs your PIN.');
  }
}

// Asks for the PIN until it is right. False if the person leaves it.
function givePin() {
  const dialog = element('dialog', undefined, { className: 'card pin' });
  const form = element('form');
  const label = element('label', 'Your PIN');
  const pin = element('input', undefined, { type: 'password', autocomplete: 'off', maxLength: 200, required: true });
  const said = element('p', '', { className: 'problem' });
  said.setAttribute('role', 'alert');
  const [go, stay] = [element('button', 'Go on', { className: 'act first' }), element('button', 'Cancel', { type: 'button', className: 'act' })];
  label.append(pin);
  form.append(label, said, go, stay);
  dialog.setAttribute('aria-label', 'Your PIN');
  dialog.append(form);
  document.body.append(dialog);
  const before = document.activeElement;
  stay.addEventListener('click', () => dialog.close());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      localStorage.setItem(PROOF, (await ask('approvals/proof', {}, { pin: pin.value })).proof);
      dialog.close('given');
    } catch (error) {
      said.textContent = error.message;
      pin.select();
    }
    go.disabled = false;
  });
  dialog.showModal();
  return new Promise((tell) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      before?.focus();
      tell(dialog.returnValue === 'given');
    });
  });
}

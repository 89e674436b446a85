// What stands behind # in the address says which document is open. The server never sees it, and a form, or the way to
// an issuer, loses it: this keeps it for the page that the sign-in leads to.
const to = new URL(document.querySelector('form').action).searchParams.get('to');
if (location.hash) sessionStorage.setItem('loci-place', JSON.stringify({ page: to.split('?')[0], hash: location.hash }));

// A browser that comes by a link of another site shows no cookie. Asked from here it does: whoever is signed in goes on.
fetch(location.href, { credentials: 'same-origin', redirect: 'manual' }).then(
  (answer) => {
    if (answer.type === 'opaqueredirect') location.replace(to);
  },
  () => {},
);

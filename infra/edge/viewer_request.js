// CloudFront runs this on every request. The synthesis puts SCOPES above it: the scopes for which a client should ask,
// by the path of an endpoint ('': all others), if the stage accepts tokens, else null.

const METADATA = '/.well-known/oauth-protected-resource';

function handler(event) {
  const request = event.request;
  if (SCOPES !== null && needsCredential(request) && !showsCredential(request)) {
    return challenge(request);
  }
  // The firewall counts by this header, so it overwrites whatever a client sent under this name.
  request.headers['x-viewer-ip'] = { value: event.viewer.ip };
  return request;
}

function needsCredential(request) {
  const isEndpoint = request.uri === '/mcp' || request.uri.startsWith('/mcp/');
  return isEndpoint && (request.method === 'POST' || request.method === 'DELETE');
}

// An `origin` means a page in a browser. Loci decides which pages may read the answer.
function showsCredential(request) {
  const headers = request.headers;
  return 'authorization' in headers || 'x-api-key' in headers || 'origin' in headers || 'apikey' in request.querystring;
}

// This is Loci's own answer. API Gateway would rename the header WWW-Authenticate, which tells a client where to sign
// in, and CloudFront runs no function on a response of 400 or above that could rename it back.
function challenge(request) {
  const resource = request.uri.replace(/\/+$/, '');
  const fields = ['realm="loci"', `resource_metadata="https://${request.headers.host.value}${METADATA}${resource}"`];
  const scopes = resource in SCOPES ? SCOPES[resource] : SCOPES[''];
  if (scopes.length > 0) {
    fields.push(`scope="${scopes.join(' ')}"`);
  }
  const error = { code: -32600, message: 'Show an API key or an access token' };
  return {
    statusCode: 401,
    statusDescription: 'Unauthorized',
    headers: {
      'content-type': { value: 'application/json' },
      'cache-control': { value: 'no-store' },
      'www-authenticate': { value: `Bearer ${fields.join(', ')}` },
    },
    body: { encoding: 'text', data: JSON.stringify({ jsonrpc: '2.0', id: null, error: error }) },
  };
}

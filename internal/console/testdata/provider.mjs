// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

// An OpenID provider (npm's oidc-provider) for one client. It prints its issuer.
// Whoever gives a name logs in; the groups of each are in the third argument.
//
//   node provider.mjs LIBRARY REDIRECT_URI GROUPS_AS_JSON

import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [library, redirect, groups] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(library));
const groupsOf = JSON.parse(groups);

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  // Another site than the console's 127.0.0.1, so that the browser keeps the
  // cookies apart as it does in earnest.
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'console', client_secret: 'the-secret-of-the-console', redirect_uris: [redirect] }],
    claims: { openid: ['sub'], email: ['email'], groups: ['groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['only-for-tests'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@acme.example`, groups: groupsOf[id] ?? [] }) }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});

import { type Class, read, reported } from '../advisory.ts'

const reach = 'packages/sdk/test/client-auth/reach.test.ts'
const login = 'packages/sdk/test/client-auth/login.test.ts'
const bearer = 'packages/sdk/test/auth/bearer.test.ts'
const verifiers = 'packages/sdk/test/auth/verifiers.test.ts'

/** Signing in. */
export const authorization: Class = {
  title: 'Authorization',
  weaknesses: [
    {
      title: 'Server-side request forgery in clients',
      advisories: [
        read(
          'official Rust and Ruby SDKs',
          'metadata of a server named addresses of the private network, and the client asked there',
          'modelcontextprotocol/rust-sdk#935',
          'modelcontextprotocol/ruby-sdk, commit aaf0c71',
        ),
        read('ToolHive before 0.31', 'the same, from outside of the container', 'CVE-2026-58196'),
        read(
          'MCP Registry before 1.7.7',
          'IPv6 addresses that carry a private one passed the check',
          'CVE-2026-44430',
        ),
      ],
      here: 'URLs from a server are requested over https, at public addresses, with at most three redirects within one origin; on Node the connection uses the address that was checked. A server in a private network may name its own network.',
      proof: [
        'test/torture/authorization/reach.test.ts > No public server makes a client connect to a private address',
        `${reach} > a name that resolves to %s address`,
        `${reach} > is followed over three redirects at most`,
        `${reach} > is not followed to %s, and nothing is requested there`,
        `${reach} > connects to the checked address whatever the name resolves to by then`,
        `${reach} > a server at a reserved address cannot make the client request anything`,
        'packages/sdk/test/links/http.test.ts > to another origin are rejected, and nothing reaches it',
      ],
    },
    {
      title: 'Server-side request forgery in tools',
      advisories: [
        reported('Atlassian server', 'a header chose the address a tool asks', 'CVE-2026-27826'),
        read('skywalking-mcp', 'the same', 'CVE-2026-34476'),
        read(
          'FastMCP before 3.2.0',
          'parameters of a path were put into a URL as they were',
          'CVE-2026-32871',
          'GHSA-vv7q-7jx5-f767',
        ),
        reported(
          'Azure server, markitdown, fetch-mcp',
          'a tool asked for any URL',
          'CVE-2026-26118',
          'CVE-2025-65513',
        ),
      ],
      here: 'The fetch server requests only http and https at public addresses, checks every redirect, and connects to the address that was checked. In the sandbox of the host a server reaches only the listed hosts, enforced by a proxy.',
      proof: [
        'servers/fetch/test/guard.test.ts > a redirect to a forbidden address',
        'servers/fetch/test/guard.test.ts > connects to the addresses that were checked: the name is resolved once',
        'packages/host/test/sandbox/sandbox.test.ts > reaches a listed host through the proxy, and no other host or port',
        'packages/host/test/sandbox/hosts.test.ts > never allows an unlisted host, however it is written',
      ],
    },
    {
      title: 'Logins that can be redirected or downgraded',
      advisories: [
        reported(
          'Cloudflare workers-oauth-provider',
          'redirect URIs were compared too late, and PKCE could be left out',
          'CVE-2025-4143',
          'GHSA-4pc9-x2fx-p7vj',
          'CVE-2025-4144',
          'GHSA-qgp8-v765-qxx9',
        ),
        read(
          'better-auth',
          'the audience came from the token request, not from what was agreed to',
          'GHSA-p2fr-6hmx-4528',
        ),
        reported('119 servers in a study of 2026', 'each had a flaw in its logins', 'arXiv 2605.22333'),
      ],
      here: 'The project has no authorization server. The client uses PKCE, state, the issuer of the response and the resource parameter, checks the schemes of endpoints, and starts no login if PKCE is not supported.',
      proof: [
        'test/torture/authorization/refusals.test.ts > A login that could be stolen or redirected fails before anything that could be abused is sent',
        `${login} > does not start without PKCE support`,
        `${login} > is checked for its issuer: %s`,
        `${login} > with %s is not used`,
        `${login} > uses PKCE, state, resource and scopes, and the call succeeds`,
        'packages/sdk/test/client-auth/metadata.test.ts > data:text/html,<script>alert(1)</script>',
      ],
    },
    {
      title: 'Tokens issued for another resource',
      advisories: [
        reported(
          'FastMCP before 2.14.2',
          'the proxy issued tokens for its base URL whatever resource was asked for',
          'CVE-2025-69196',
          'GHSA-5h2m-4q8j-pqpj',
        ),
        read('MCP Registry', 'all deployments took tokens of one audience', 'CVE-2026-44428'),
        read(
          'several verifiers',
          'a token without an audience passed, or one with ours among others',
          'HeliosSoftware, pull request 206',
          'clerk, issue 9585',
        ),
      ],
      here: 'A token is accepted only if this resource is its only audience; without an audience, with another or with several it is refused before anything runs. Tokens are never passed to handlers and never forwarded.',
      proof: [
        'test/torture/authorization/tokens.test.ts > An invalid token is refused with a challenge, and no handler runs',
        `${bearer} > a token with %s is rejected, and nothing runs`,
        `${bearer} > a token for several audiences is accepted only if that is configured, and only with the resource among them`,
        `${bearer} > a handler gets the caller, its client and claims, but not the token (%s)`,
        `${verifiers} > accepts only the configured algorithms, and no symmetric one`,
        'packages/sdk/test/client-auth/reach.test.ts > are not sent to another origin',
      ],
    },
    {
      title: 'The confused deputy',
      advisories: [
        read(
          'FastMCP before 3.2.0',
          'consent of one client stood for others, so that an attacker’s got the code',
          'CVE-2026-27124',
          'GHSA-rww4-4w9c-7733',
          'GHSA-c2jp-c369-7pvx',
          'GHSA-6x8h-498w-gv8c',
        ),
        reported(
          'remote servers, June 2025',
          'one click on a link gave an attacker the account',
          'Obsidian Security, 2025',
        ),
      ],
      here: 'The project has no authorization server and no proxy of one; the resource server verifies tokens and issues none. The client never sends the credentials of one authorization server to another.',
      proof: [
        'test/torture/authorization/refusals.test.ts > Credentials of one authorization server are never sent to its replacement',
        'packages/sdk/test/client-auth/registration.test.ts > are never sent to another, though one store has all of them',
      ],
    },
    {
      title: 'Checks that fail open',
      advisories: [
        read(
          'MCP Registry',
          'a package counted as checked while the place to ask limited its requests',
          'CVE-2026-45781',
        ),
        read(
          'MCP Registry before 1.7.7',
          'an open redirect, and markup of others on its pages',
          'CVE-2026-44427',
          'CVE-2026-44429',
        ),
      ],
      here: 'If keys or an authorization server are unavailable, the request is refused; a response of a registry is accepted only as the document that was requested.',
      proof: [
        'test/torture/authorization/dependencies.test.ts > A failing or misbehaving authorization server grants no access',
        `${verifiers} > fails, without a verdict on the token, when the keys %s`,
        `${verifiers} > a failure is no verdict, and is not cached`,
        `${verifiers} > fails when nothing responds`,
        'packages/host/test/registry/registry.test.ts > rejects invalid responses (%#)',
      ],
    },
  ],
}

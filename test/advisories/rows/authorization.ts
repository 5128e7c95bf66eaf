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
      title: 'Requests into the own network',
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
      here: 'What a server names is asked for over https, at public addresses, after at most three redirects within one origin; on Node the connection is made to the address that was judged. A server in a private network may name its own network.',
      proof: [
        'test/torture/authorization/reach.test.ts > No server on the Internet leads a client to an address that is not on the Internet',
        `${reach} > a name that stands for %s address`,
        `${reach} > is followed over three redirects and no more`,
        `${reach} > is not followed to %s, and nothing is asked for there`,
        `${reach} > connects to the checked address whatever the name stands for by then`,
        `${reach} > a server at a reserved address cannot make the client ask for anything`,
        'packages/sdk/test/links/http.test.ts > to another origin are refused, and nothing reaches it',
      ],
    },
    {
      title: 'Requests of tools into the own network',
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
      here: 'Not applicable: we ship no server that asks for URLs. In the sandbox of the host a server reaches the hosts that are listed, judged by the proxy.',
      proof: [
        'packages/host/test/sandbox/sandbox.test.ts > reaches a listed host through the proxy, and no other host or port',
        'packages/host/test/sandbox/hosts.test.ts > never lets through what is not on it, whatever is written',
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
      here: 'We ship no authorization server. The client logs in with PKCE, state and the issuer of the answer, at endpoints whose schemes it judged, names the resource in every request, and begins no login where PKCE is not offered.',
      proof: [
        'test/torture/authorization/refusals.test.ts > A login that could be stolen or led astray ends before anything is sent that could be abused',
        `${login} > does not begin where PKCE is not supported`,
        `${login} > is judged by its issuer: %s`,
        `${login} > with %s is not used`,
        `${login} > asks with PKCE, state, resource and scopes, and gets the call through`,
        'packages/sdk/test/client-auth/metadata.test.ts > data:text/html,<script>alert(1)</script>',
      ],
    },
    {
      title: 'Tokens that were meant for somebody else',
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
      here: 'A token counts if its audience is this resource and nobody else; without one, with another or with more it is refused before anything runs. Tokens are never handed to handlers, and never sent on.',
      proof: [
        'test/torture/authorization/tokens.test.ts > A token that is not exactly right is refused with a challenge, and no handler runs',
        `${bearer} > a token with %s is refused, and nothing runs`,
        `${bearer} > a token may be for somebody else besides only where that is named, and never for them alone`,
        `${bearer} > a handler learns who calls, for which client and with what, but not the token (%s)`,
        `${verifiers} > takes only the algorithms it was given, and no symmetric one at all`,
        'packages/sdk/test/client-auth/reach.test.ts > do not go to another origin',
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
      here: 'We ship no authorization server and no proxy of one; the resource server checks tokens and issues none. The client keeps what one authorization server gave from every other.',
      proof: [
        'test/torture/authorization/refusals.test.ts > Nothing that belongs to one authorization server goes to the one that takes its place',
        'packages/sdk/test/client-auth/registration.test.ts > is never shown to another, though one store keeps it all',
      ],
    },
    {
      title: 'Checks that pass when they cannot be made',
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
      here: 'We run no registry. Where keys or an authorization server cannot be asked, the request is refused; what a registry answers is taken only as the document that was asked for.',
      proof: [
        'test/torture/authorization/dependencies.test.ts > An authorization server that fails or talks nonsense lets nobody in',
        `${verifiers} > fails, and says nothing about the token, when the keys %s`,
        `${verifiers} > a failure is no answer, and is not kept`,
        `${verifiers} > fails when nobody answers`,
        'packages/host/test/registry/registry.test.ts > does not take anything for an answer (%#)',
      ],
    },
  ],
}

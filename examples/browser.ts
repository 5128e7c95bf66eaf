import { manual, oauth } from '@jackfield/sdk/client/auth'

/*
 * The browser of a user, for examples that run unattended: it follows redirects and keeps cookies. The authorization server of the
 * tests signs in whoever `login_hint` names, where a person would fill in a form.
 */

/** Opens a page as a user of the authorization server. Returns the page where the redirects end. */
export async function openPage(
  url: string,
  user: string,
  issuer: string,
): Promise<{ status: number; text: string }> {
  const cookies = new Map<string, Map<string, string>>()
  let next = new URL(url)
  for (let redirects = 0; redirects < 20; redirects++) {
    if (next.origin === new URL(issuer).origin) next.searchParams.set('login_hint', user)
    const jar = cookies.get(next.origin) ?? new Map<string, string>()
    cookies.set(next.origin, jar)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) return { status: response.status, text: await response.text() }
    next = new URL(location, next)
  }
  throw new Error(`${url} redirects without end`)
}

/** How an MCP client signs a user in. */
export function signInAs(user: string) {
  return oauth({
    client: { name: 'An MCP client' },
    redirect: manual({
      redirectUri: 'http://127.0.0.1/callback',
      async ask(loginUrl) {
        loginUrl.searchParams.set('login_hint', user)
        const { headers } = await fetch(loginUrl, { redirect: 'manual' })
        return headers.get('location') ?? ''
      },
    }),
  })
}

/** Registers an MCP server as a client of the authorization server, to have users sign in at its own pages. */
export async function registerClient(issuer: string, redirectUri: string) {
  const response = await fetch(`${issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'An MCP server',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
    }),
  })
  const body: { client_id: string; client_secret: string } = JSON.parse(await response.text())
  return { issuer, clientId: body.client_id, clientSecret: body.client_secret }
}

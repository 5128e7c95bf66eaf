import { McpError } from '@jackfield/sdk'

/** The login page. */
export interface LoginPage {
  /** The URL with the parameters of this login. */
  url: string
  /** The server of the page. */
  issuer: string
  scopes: readonly string[]
}

/** A server requires a login, and the user may not be asked at this point. */
export class SignInNeeded extends McpError {
  override readonly name: string = 'SignInNeeded'
  readonly page: LoginPage

  constructor(page: LoginPage) {
    super('UNAUTHORIZED', `It requires a sign-in at ${page.issuer}`)
    this.page = page
  }
}

/** The login page at a URL, with the scopes in its query. */
export function pageAt(url: URL): LoginPage {
  const scope = url.searchParams.get('scope') ?? ''
  return { url: url.href, issuer: url.origin, scopes: scope.split(' ').filter((name) => name !== '') }
}

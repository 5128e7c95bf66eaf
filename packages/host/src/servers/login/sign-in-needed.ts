import { McpError } from '@jackfield/sdk'

/** Where a person would sign in. */
export interface LoginPage {
  /** The page with everything that makes it this very login. */
  url: string
  /** Whose page it is. */
  issuer: string
  scopes: readonly string[]
}

/** A server requires signing in, and the person may not be asked at this point. */
export class SignInNeeded extends McpError {
  override readonly name: string = 'SignInNeeded'
  readonly page: LoginPage

  constructor(page: LoginPage) {
    super('UNAUTHORIZED', `It wants you to sign in at ${page.issuer}`)
    this.page = page
  }
}

export function pageAt(url: URL): LoginPage {
  const scope = url.searchParams.get('scope') ?? ''
  return { url: url.href, issuer: url.origin, scopes: scope.split(' ').filter((name) => name !== '') }
}

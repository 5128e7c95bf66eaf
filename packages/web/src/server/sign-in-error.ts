/** A sign-in that did not succeed: an HTTP status, and sentences for the person. */
export class SignInError extends Error {
  override readonly name: string = 'SignInError'
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

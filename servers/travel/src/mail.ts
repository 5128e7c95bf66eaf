/** Sends one plain-text message. */
export interface Mailer {
  /** Resolves when the mail server accepted the message; rejects with a `MailError` if it did not. */
  send(mail: { to: string; subject: string; body: string }): Promise<void>
}

/** Why a message was not accepted, without addresses or credentials of the mail server. */
export class MailError extends Error {
  override readonly name: string = 'MailError'
}

const timeoutMs = 15_000

/**
 * A mailer for an SMTP server.
 * @param url such as `smtps://user:password@mail.example.com`
 * @param from the sender's address; default: the user of the URL if it is an address
 * @throws TypeError if the URL is not that of an SMTP server, or without a sender
 */
export function createMailer(url: string, from?: string): Mailer {
  const server = URL.canParse(url) ? new URL(url) : undefined
  if (server === undefined || !['smtp:', 'smtps:'].includes(server.protocol)) {
    throw new TypeError('The mail server must be given as smtp://host:port or smtps://user:password@host')
  }
  const user = decodeURIComponent(server.username)
  const sender = from ?? (user.includes('@') ? user : undefined)
  if (sender === undefined) {
    throw new TypeError('The mail server needs a sender: set SMTP_FROM to an e-mail address')
  }
  return {
    async send({ to, subject, body }) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({
        url,
        connectionTimeout: timeoutMs,
        greetingTimeout: timeoutMs,
        socketTimeout: timeoutMs,
      })
      try {
        await transport.sendMail({ from: sender, to, subject, text: body })
      } catch (error) {
        throw new MailError(reasonOf(error), { cause: error })
      }
    },
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'EAUTH':
      return 'the mail server refused the user name or password'
    case 'EENVELOPE':
      return 'the mail server refused the sender or the recipient'
    case 'ECONNECTION':
    case 'ESOCKET':
    case 'ETIMEDOUT':
    case 'EDNS':
      return 'the mail server could not be reached'
    case 'EMESSAGE':
      return 'the mail server refused the message'
    default:
      return 'the mail server did not take the message'
  }
}

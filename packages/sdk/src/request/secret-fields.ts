import { isObject } from '../jsonrpc/parse.ts'

/** Words that name a secret by themselves. */
const secrets = [
  'passwords?',
  'passwd',
  'passphrase',
  'pass phrase',
  'api ?keys?',
  'secret',
  '(?:secret|private|access|signing|encryption) key',
  '(?:client|app|shared|webhook|signing) secret',
  'token',
  'credentials?',
  'cvv2?|cvc2?',
  'otp|one ?time (?:password|passcode|code)',
].join('|')
/** What makes a "token" no secret: a count, a place in a list, or a coin. */
const harmlessTokens =
  'max|maximum|min|minimum|per|next|page|continuation|sync|stop|start|end|special|erc20|swap|design|cancellation'
const before =
  '(?:(?:please )?(?:enter|type|provide|give|paste|repeat|confirm|choose|set) )?(?:in )?(?:your |the |a |an |my )?'
const after = '(?: (?:for|again|confirmation|repeat|here|required)(?: .*)?)?'
const named = new RegExp(`^(?:.* )?(?:${secrets})${after}$`)
const titled = new RegExp(`^${before}(?:[a-z0-9]+ ){0,2}(?:${secrets})${after}$`)
const harmless = new RegExp(
  `(?:^| )(?:(?:${harmlessTokens}) tokens?|(?:forgot|reset|remember|no|without) (?:my |your )?(?:${secrets}))`,
)

/**
 * The first field of a form that asks for a password, a token, an API key or the like: text whose format, name or title says so.
 * Choices, numbers and yes or no are none, nor are words such as `tokenCount`. Undefined where no field does.
 */
export function secretFieldOf(properties: unknown): string | undefined {
  if (!isObject(properties)) return undefined
  return Object.entries(properties).find(([name, field]) => isObject(field) && isSecret(name, field))?.[0]
}

/** Why a form with such a field is not sent. */
export function whyNoSecrets(field: string): string {
  return (
    `the field "${field}" asks for a secret, which a form must not do because its values pass through the client: ` +
    'send the person to a page of yours with ctx.elicitUrl (URL mode) and take the secret there'
  )
}

function isSecret(name: string, field: Readonly<Record<string, unknown>>): boolean {
  const { type, title, format, enum: choices, oneOf, anyOf } = field
  if (format === 'password' || field['writeOnly'] === true) return true
  if (
    (type !== undefined && type !== 'string') ||
    choices !== undefined ||
    oneOf !== undefined ||
    anyOf !== undefined
  ) {
    return false
  }
  return says(name, named) || (typeof title === 'string' && says(title, titled))
}

function says(text: string, secret: RegExp): boolean {
  if (text.length > 200) return false
  const words = text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()
  return secret.test(words) && !harmless.test(words)
}

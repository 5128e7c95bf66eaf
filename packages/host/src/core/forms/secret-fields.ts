import type { FieldKind } from '../../types/index.ts'

/** The texts of a field that can show that it asks for a secret. */
interface FieldWords {
  key: string
  label: string
  description?: string | undefined
  kind: FieldKind
  format?: string | undefined
  /** The text of the question that contains the field. */
  message: string
}

interface Secret {
  what: string
  /** Sufficient as a field name. */
  named: RegExp
  /** Clear enough to be sufficient in a description or message. */
  spoken?: RegExp
}

const password = anyOf(
  'pass ?words?|passwd|pass ?phrases?|pass ?codes?|pwd|pswd|psw',
  'passwor[dt]e?|kennwort|losungswort|mot de passe|mdp|contrasena|senha|palavra passe|parola d ordine',
  'wachtwoord|losenord|passord|adgangskode|kodeord|salasana|haslo|heslo|jelszo|parola|sifre|sandi|kata sandi|mat khau',
  'lozinka|geslo|slaptazodis|wagwoord|parola$',
  {
    bare: 'парол|пароль|гасло|κωδικος προσβασης|パスワード|暗証|密码|密碼|口令|비밀번호|암호|كلمة المرور|كلمة السر|رمز عبور|पासवर्ड|סיסמ|รหัสผ่าน',
  },
)
const card = anyOf(
  '(?:credit|debit|bank|payment)? ?card ?(?:number|no|num|nr)|credit ?card|debit ?card|cardnumber|creditcard|pan number',
  'cvv2?|cvc2?|csc|card verification|security code',
  'kreditkarten?(?: ?nummer)?|kartennummer|prufziffer|kartenprufnummer',
  'carte bancaire|carte de credit|numero de carte|cryptogramme(?: visuel)?',
  'tarjeta de (?:credito|debito)|numero de (?:la )?tarjeta|codigo de seguridad',
  'cartao de (?:credito|debito)|numero do cartao|carta di credito|numero (?:della )?carta',
  'creditkaart|kaartnummer|kortnummer|kontokort|numer karty|cislo karty|kart numarasi',
  {
    bare: 'номер карты|номер картки|кредитн[а-яії]+ карт|カード番号|クレジットカード|卡号|卡號|信用卡|银行卡|카드 ?번호|신용카드|رقم البطاقة',
  },
)
const key = anyOf(
  '(?:api|access|private|secret|signing|encryption|ssh|pgp|gpg|master|license|account|service|webhook|client|aws|openai|anthropic|stripe) ?keys?',
  'apikeys?|accesskeys?|privatekeys?|secretkeys?|client ?secrets?|shared secret|keystore|keyfile|pem',
  'api schlussel|privater schlussel|geheimer schlussel|cle (?:privee|secrete|api|d api)|clave (?:privada|secreta|api|de acceso)|chave (?:privada|secreta|api|de api|de acesso)|chiave (?:privata|segreta|api)',
  {
    bare: 'приватн[а-яії]+ ключ|закрыт[а-я]+ ключ|api ключ|秘密鍵|api ?キー|密钥|密鑰|私钥|私鑰|개인 ?키|api ?키',
  },
)
const token = anyOf(
  '(?:access|auth|authentication|authorization|api|refresh|bearer|session|id|secret|personal|personal access|bot|user|login|oauth|jwt|github|gitlab|slack) ?tokens?',
  'authtoken|accesstoken|apitoken|jwt|bearer|session ?cookies?|jeton(?: d acces)?|zugriffstoken|zugangstoken',
  { bare: 'トークン|令牌|토큰|токен' },
)
const pin = anyOf(
  '(?:(?:your|card|sim|account|bank|atm|secret|security|login|user) )?pin(?: ?(?:code|number|no|nummer))?$',
  'pincode|pin ?code|geheimzahl|code secret|codigo pin|codice pin|pinkod|pinkode',
  { bare: 'пин ?код|пінкод|暗証番号|暗証コード' },
)
const oneTime = anyOf(
  'otp|totp|one ?time (?:code|pass ?word|pass ?code|pin)|(?:2fa|mfa|two factor|verification|authenticator|authentication|sms|login) codes?|2fa|mfa',
  'bestatigungscode|code de verification|codigo de verificacion|codigo de verificacao|codice di verifica|verificatiecode',
  {
    bare: 'код подтверждения|認証コード|確認コード|ワンタイム|验证码|驗證碼|인증 ?번호|인증 ?코드|رمز التحقق',
  },
)
const recovery = anyOf(
  '(?:seed|recovery|backup|mnemonic|secret) (?:phrase|words?|codes?|keys?)|mnemonic|seedphrase',
  'wiederherstellungs(?:code|schlussel|phrase)|phrase (?:secrete|de recuperation)|frase (?:semilla|de recuperacion)',
  { bare: '助记词|助記詞|リカバリー|복구 ?구문' },
)
const identity = anyOf(
  'ssn|social security(?: (?:number|no))?|social insurance number|national (?:id|insurance)(?: number)?|tax ?id(?: number)?|itin',
  'sozialversicherungsnummer|steuer ?id|numero de securite sociale|numero de seguro social|codice fiscale|cpf|bsn|personnummer|pesel',
  'iban|routing number|bank account(?: number)?|account number|kontonummer|numero de compte|numero de cuenta|passport (?:number|no)|driver s? ?licen[sc]e(?: number)?',
  { bare: '身份证|身分證|マイナンバー|주민등록번호|номер паспорта|инн' },
)
const general = anyOf(
  'secrets?|credentials?|mother s maiden name|security (?:question|answer)|geheimnis|zugangsdaten|identifiants secrets|credenciales|credenciais|credenziali',
  { bare: 'секрет|учетные данные|秘密|機密|凭证|凭据|자격 ?증명' },
)

const secrets: readonly Secret[] = [
  { what: 'a password', named: password, spoken: password },
  { what: 'a one-time code', named: oneTime },
  { what: 'card data', named: card, spoken: card },
  { what: 'a recovery phrase', named: recovery, spoken: recovery },
  { what: 'a key', named: key, spoken: key },
  { what: 'a token', named: token, spoken: token },
  { what: 'a PIN', named: pin },
  { what: 'a number that identifies you or your account', named: identity },
  { what: 'a secret', named: general },
]

const bareToken = /(?:^| )tokens?$/
const negation = /\b(?:not|never|no|without|nicht|kein\w*|jamais|nunca|don t|isn t|won t)\b.{0,40}$/

/** The kind of secret a field seems to ask for, such as `a password`; undefined if none. */
export function secretRequestedBy(words: FieldWords): string | undefined {
  const { kind, format, description, message } = words
  // Booleans and choices defined by the server contain no secret of the user.
  if (kind === 'boolean' || kind === 'choice' || kind === 'choices') return undefined
  if (format === 'password') return 'a password'
  const isNumber = kind === 'number' || kind === 'integer'
  for (const name of [folded(words.key), folded(words.label)]) {
    const match = secrets.find(({ what, named }) => !(isNumber && what === 'a token') && named.test(name))
    if (match !== undefined) return match.what
    if (!isNumber && bareToken.test(name)) return 'a token'
  }
  if (kind !== 'text') return undefined
  return mentionedIn(description ?? '') ?? mentionedIn(message)
}

function mentionedIn(text: string): string | undefined {
  for (const sentence of text.slice(0, 2_000).split(/[.!?\n。！？]+/)) {
    const foldedSentence = folded(sentence)
    const match = secrets.find(({ spoken }) => {
      const mention = spoken?.exec(foldedSentence)
      return mention != null && !negation.test(foldedSentence.slice(0, mention.index))
    })
    if (match !== undefined) return match.what
  }
  return undefined
}

/** Whole words of languages written with spaces, and parts of words (`bare`) of others. */
function anyOf(...patterns: (string | { bare: string })[]): RegExp {
  const wordPatterns = patterns.flatMap((pattern) => (typeof pattern === 'string' ? [pattern] : []))
  const parts = patterns.flatMap((pattern) => (typeof pattern === 'string' ? [] : [pattern.bare]))
  const bare = parts.length === 0 ? '' : `|${withoutMarks(parts.join('|'))}`
  return new RegExp(`(?:^| )(?:${wordPatterns.join('|')})(?: |$)${bare}`, 'u')
}

/** Words in lower case between single spaces: `apiKey`, `API-Key` and `api_key` are one. */
function folded(name: string): string {
  return withoutMarks(
    name
      .slice(0, 500)
      .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2'),
  )
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

function withoutMarks(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll('ı', 'i')
    .replaceAll('ł', 'l')
    .replaceAll('ß', 'ss')
    .replaceAll('ø', 'o')
    .replace(/[\p{M}\p{Cf}]/gu, '')
}

import type { TrustFinding } from '../../types/index.ts'

/** Sensitive files, as a pattern over lower-case text. */
const sensitiveFiles = [
  String.raw`\.ssh\b`,
  String.raw`\bid_(?:rsa|ed25519|ecdsa)\b`,
  String.raw`\.aws\/`,
  String.raw`\/etc\/(?:passwd|shadow|sudoers)\b`,
  String.raw`\.(?:netrc|pgpass|git-credentials|gnupg)\b`,
  String.raw`\.cursor\/mcp\.json\b`,
  String.raw`\bwallet\.dat\b`,
  String.raw`\b(?:login )?keychain(?: access| items?| passwords?|-db)`,
  String.raw`\bbrowser (?:cookies|passwords)\b`,
  String.raw`\.env(?: file)?\b(?!\w)(?=.{0,40}\b(?:content|secret|pass|send|includ|append|before))`,
].join('|')

/** Files that servers of cloud providers may mention, unless they request their content. */
const sensitiveThings = [
  String.raw`\bssh (?:private )?keys?\b`,
  String.raw`\bprivate ssh\b`,
  String.raw`\baws credentials\b`,
  String.raw`\bmcp\.json\b`,
  String.raw`\bclaude_desktop_config\b`,
  String.raw`\bseed phrase\b`,
].join('|')

/** Suspicious phrasing in a tool description. */
interface Phrase {
  code: string
  severity: TrustFinding['severity']
  pattern: RegExp
  /** The text of the finding for the user, before the matched text. */
  says: string
}

const user = String.raw`(?:the |your |this |to the )?(?:user|users|human|person|operator|customer)\b`
const privateData = String.raw`(?:(?:the |its |their |your |all |any |every )*(?:(?:entire|full|whole|complete|previous|prior|recent|current) )+(?:conversation|chat|message|messages|dialogue|context|prompt|system prompt)|(?:conversation|chat|message) history|system prompt|credentials?|api[ _-]?keys?|access tokens?|secrets?|private keys?|ssh keys?|passwords?|environment variables|env vars|seed phrase|session cookies?)\b`

/**
 * Texts are matched in lower case with single spaces and without hidden characters. Every gap is bounded, so matching takes
 * linear time.
 */
const phrases: readonly Phrase[] = [
  {
    code: 'speaks-to-the-model',
    severity: 'danger',
    says: 'tells the model to ignore its instructions',
    pattern:
      /\b(?:ignore|disregard|forget|override|bypass|overrule|do not follow|don't follow)\b.{0,25}\b(?:all|any|the|your|these|those|previous|prior|above|earlier|preceding|other|system|safety|original)\b.{0,30}\b(?:instructions?|prompts?|rules|directions|directives|guidelines|guardrails|restrictions|policies|messages)\b(?!(?: or commands?)? (?:that are |that appear |which are )?(?:returned|contained|found|embedded|included|written|inside|within|in|from)\b(?! (?:the )?(?:system|user|developer|prompt|person|human)).{0,25}\b(?:this tool|results?|responses?|outputs?|data|rows|pages?|documents?|contents?|websites?|e-?mails?|files?)\b)/,
  },
  {
    code: 'speaks-to-the-model',
    severity: 'danger',
    says: 'tells the model to keep something from you',
    pattern: new RegExp(
      String.raw`\b(?:do not|don't|never|must not|should not|shouldn't|avoid|refrain from|without(?! first\b)|without first(?<!(?:\b(?:never|not|cannot)|n't)\b[^.!?;:]{0,80}without first))\b(?:(?!\b(?:that|which|who)\b).){0,20}\b(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|notify|notifying|show|showing|disclose|disclosing|alert|alerting|explain|explaining|report|reporting|let|letting)\b(?:(?!\b(?:unless|until)\b).){0,50}\b${user}`,
    ),
  },
  {
    code: 'speaks-to-the-model',
    severity: 'danger',
    says: 'tells the model to keep something from you',
    pattern: new RegExp(
      String.raw`\b(?:hide|conceal|keep|withhold)\b.{0,40}\b(?:from|hidden from|secret from) ${user}|\b(?:do not|don't|never) (?:mention|reveal|disclose) (?:this|that you|these|it)\b|\b${user} (?:(?:must|should|need)(?: not|n't) (?:know|be told|be aware|see|notice)|does(?: not|n't) (?:know|notice|need to (?:know|see|be told)))`,
    ),
  },
  {
    code: 'speaks-to-the-model',
    severity: 'danger',
    says: 'tells the model not to ask you',
    pattern: new RegExp(
      String.raw`\b(?:do not|don't|never|no need to)\b.{0,12}\bask\b.{0,20}(?:${user}.{0,20})?\b(?:confirmation|permission|approval|consent)\b|\bwithout (?:asking|telling|informing|notifying|consulting|the knowledge of) ${user}`,
    ),
  },
  {
    code: 'speaks-to-the-model',
    severity: 'danger',
    says: 'gives the model another role',
    pattern:
      /\byou are (?:now|no longer) (?:a|an|in|the|bound|operating|acting)\b|\b(?:new|updated|real|actual) (?:system )?instructions?(?: for (?:the )?(?:ai|assistant|model|agent))? ?(?::|are\b)|\b(?:developer|admin|debug|god|jailbreak|maintenance|unrestricted) mode (?:is )?(?:on|enabled|activated|engaged)\b/,
  },
  {
    code: 'speaks-to-the-model',
    severity: 'danger',
    says: 'imitates the marks of a conversation',
    pattern:
      /<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|?>?|\[\/?inst\]|<<\/?sys>>|<\/?(?:system|system_prompt|system-reminder|assistant|instructions_override)>|(?:^|\n|[.!] )(?:### ?)?(?:system|assistant) ?(?:prompt|message|override)? ?: /,
  },
  {
    code: 'speaks-to-the-model',
    severity: 'warning',
    says: 'addresses the model with marks of urgency',
    pattern: /<\/?(?:important|critical|secret|hidden|instruction|instructions|admin|attention|priority)>/,
  },
  {
    code: 'speaks-to-the-model',
    severity: 'warning',
    says: 'demands to be followed before any other tool is used',
    pattern:
      /\b(?:before|prior to|whenever|every time|each time)\b.{0,25}\b(?:using|calling|invoking|running|executing|use|call|invoke|run)\b.{0,20}\b(?:any|every|all|each|another)\b (?:of the |the )?(?:other |single |available )?(?:tools?|functions?|commands?|servers?)\b|\b(?:before|after) (?:every|each|any|all) (?:other (?:tools?|functions?)|(?:tool|function) (?:call|use))\b/,
  },
  {
    code: 'speaks-to-the-model',
    severity: 'warning',
    says: 'threatens that other things fail',
    pattern:
      /\b(?:otherwise|or else|or|if not,?)\b.{0,20}\b(?:the (?:application|app|system|program|tool|user|assistant)|it|you|everything)\b.{0,10}\b(?:will|would)\b.{0,15}\b(?:crash|be deleted|be terminated|be banned|be shut down|break|be lost|die|be punished)\b/,
  },
  {
    code: 'speaks-to-the-model',
    severity: 'warning',
    says: 'addresses the model directly',
    pattern:
      /\b(?:note|message|instructions?|notice|reminder|attention|directive|order)s? (?:to|for) (?:the )?(?:ai|llm|language model|assistant|agent|model|claude|chatgpt|gpt|gemini|copilot)s?\b.{0,3}[:.,!-]|\b(?:dear|attention,?) (?:ai|llm|assistant|agent|model|claude|chatgpt)\b|\bas an ai (?:assistant|agent|model),? you (?:must|should|are)\b/,
  },
  {
    code: 'leaks-data',
    severity: 'danger',
    says: 'asks for private data to be sent somewhere',
    pattern: new RegExp(
      String.raw`\b(?:send|post|forward|upload|e-?mail|exfiltrate|transmit|leak|append|attach|pass|include|put|copy|bcc|submit|report|encode|embed|write|provide|supply|insert)\b.{0,60}\b${privateData}.{0,80}(?:\b(?:to|at|into|in|as|via|through|with)\b.{0,30}(?:https?://|@[\w-]+\.|\b(?:parameter|argument|field|query|sidenote|notes?|webhook|server|url|attacker|endpoint|comment)\b))`,
    ),
  },
  {
    code: 'leaks-data',
    severity: 'danger',
    says: 'asks to send messages to another recipient as well',
    pattern:
      /\b(?:always|must|also|silently|secretly|automatically)\b.{0,30}\b(?:bcc|cc|copy|send a copy|forward|redirect|reroute|replace the recipient)\b.{0,60}(?:@[\w-]+\.\w|https?:\/\/|\+\d{6,}|\bproxy\b)/,
  },
  {
    code: 'leaks-data',
    severity: 'danger',
    says: 'asks for something to be done in secret',
    pattern:
      /\b(?:secretly|covertly|surreptitiously|stealthily)\b|\b(?:silently|quietly|discreetly|invisibly|in the background,?) (?:send|forward|upload|transmit|exfiltrate|post|e-?mail|bcc|copy|collect|append|execute|run|call|invoke|install)\b/,
  },
  {
    code: 'leaks-data',
    severity: 'warning',
    says: 'sends data out in the address of an image',
    pattern: /!\[[^\]]{0,200}\]\(https?:\/\/[^)\s]{0,300}(?:\?|\{|%7b|<)/,
  },
  {
    code: 'reads-secrets',
    severity: 'danger',
    says: 'asks for secrets of this machine to be read',
    pattern: new RegExp(
      String.raw`\b(?:read|reads|reading|cat|open|opening|send|upload|include|append|pass|copy|print|access(?! to)|fetch|get|load|provide|extract|collect|contents? of|contents? from|content of)\b.{0,60}(?:${sensitiveFiles}|${sensitiveThings})`,
    ),
  },
  {
    code: 'reads-secrets',
    severity: 'warning',
    says: 'names locations of secrets on this machine',
    pattern: new RegExp(sensitiveFiles),
  },
  {
    code: 'runs-a-command',
    severity: 'danger',
    says: 'asks for a downloaded script to be run',
    pattern:
      /\b(?:curl|wget)\b[^|\n]{1,200}\|\s{0,3}(?:sudo )?(?:ba|z)?sh\b|\bbash -c ["'$]|\b(?:ba)?sh <\(curl|\|\s{0,3}base64 -d|\bnc -e\b|\/dev\/tcp\//,
  },
  {
    code: 'runs-a-command',
    severity: 'danger',
    says: 'orders the model to run a command',
    pattern:
      /\b(?:you must|always|first|must first|you should|please|immediately) (?:always )?(?:run|execute)\b.{0,30}(?:\bthe (?:following )?(?:shell |terminal |bash )?command\b|[`'"$]|\bcurl\b|\bwget\b|\bnpm install\b|\bpip install\b|\brm -)/,
  },
  {
    code: 'shadows-a-tool',
    severity: 'warning',
    says: 'demands to be used in place of other tools',
    pattern:
      /\b(?:never|do not|don't|must not|stop) (?:ever )?(?:use|using|call|calling|invoke)\b.{0,20}\b(?:any|the|all) other (?:\w+ )?(?:tools?|servers?|functions?)\b|\b(?:instead of|in place of|rather than|replaces|supersedes|overrides) (?:(?:any|all|every|the) (?:other )?(?:\w+ )?(?:tools|servers)|(?:any|every|the other) (?:\w+ )?(?:tool|server))\b|\b(?:other|all other|the other) (?:\w+ )?(?:tools?|servers?) (?:are|is|have been|has been) (?:deprecated|disabled|broken|compromised|unsafe|unavailable|malicious)\b/,
  },
]

const searchPatterns = phrases.map((phrase) => ({ ...phrase, pattern: new RegExp(phrase.pattern, 'g') }))

/**
 * Ends directly before the forbidden action: "do not", "never share or", "**do not** ever". "Do not forget to" forbids nothing.
 */
const negation =
  /(?:\b(?:do not|don't|does not|doesn't|never|must not|mustn't|should not|shouldn't|shall not|cannot|can't|may not|will not|won't|avoid|refrain from|instead of|rather than|no need to)|(?<!\b(?:if|or|whether) )\bnot)[ *_]+(?:(?:ever|please|to|be|directly|accidentally|also|any|it|them|or|and|share|sharing|send|sending|paste|pasting|pass|passing|include|including|put|putting|write|writing|store|storing|print|log|expose|exposing|read|reading|open|access|copy|return|show|provide|submit|commit|enter)[ ,*_]+){0,6}["'`]?(?:(?:~|\$home)?\/)?$/
/** Cancels a prohibition in the same sentence. */
const negationEnd = /\b(?:without|unless|except|but|instead|only if|just|rather)\b/
const maxBefore = 80
const maxAfter = 60
/** Maximum forbidden matches that are skipped; a text with more is suspicious. */
const maxNegated = 200

/** The first match that the text does not forbid; undefined if there is none. */
function findUnnegated(plain: string, pattern: RegExp): string | undefined {
  pattern.lastIndex = 0
  for (let count = 0; ; count += 1) {
    const match = pattern.exec(plain)
    if (match === null) return undefined
    const [text] = match
    const end = match.index + text.length
    const rest = plain.slice(end, end + maxAfter).split(/[.!?](?:\s|$)/, 1)
    const isForbidden =
      count < maxNegated &&
      negation.test(plain.slice(Math.max(0, match.index - maxBefore), match.index)) &&
      !negationEnd.test(text + rest.join(''))
    if (!isForbidden) return text
    pattern.lastIndex = match.index + 1
  }
}

/** A matched phrase with its text. */
interface PhraseMatch {
  code: string
  severity: TrustFinding['severity']
  says: string
  words: string
}

/** Every phrase of a text that addresses a model instead of describing a tool. */
export function phrasesIn(text: string): PhraseMatch[] {
  const plain = normalizedForMatching(text)
  const matches: PhraseMatch[] = []
  const found = new Set<string>()
  for (const { code, severity, says, pattern } of searchPatterns) {
    if (found.has(says)) continue
    const words = findUnnegated(plain, pattern)
    if (words === undefined) continue
    if (code === 'reads-secrets' && matches.some((earlier) => earlier.code === code)) continue
    found.add(says)
    matches.push({ code, severity, says, words: words.trim() })
  }
  // One such phrase may be accidental; several in one text are not.
  const serious = matches.filter((match) => match.code !== 'reads-secrets' || match.severity === 'danger')
  if (serious.length < 2) return matches
  return matches.map((one) => (serious.includes(one) ? { ...one, severity: 'danger' } : one))
}

function normalizedForMatching(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll(/[’‘]/g, "'")
    .toLowerCase()
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[\n ]*/g, '\n')
    .replaceAll('\n', ' ')
}

const sensitiveLocations: readonly { pattern: RegExp; what: string }[] = [
  {
    pattern: /(?:^|[\\/=:~])\.ssh(?:[\\/:]|$)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b/i,
    what: 'the folder of your SSH keys',
  },
  { pattern: /(?:^|[\\/=:~])\.aws(?:[\\/:]|$)/i, what: 'your AWS credentials' },
  { pattern: /[\\/]\.config[\\/]gcloud|[\\/]\.azure(?:[\\/:]|$)/i, what: 'your cloud credentials' },
  { pattern: /(?:^|[\\/=:~])\.gnupg(?:[\\/:]|$)/i, what: 'your PGP keys' },
  {
    pattern: /[\\/]\.(?:netrc|git-credentials|pgpass|npmrc|pypirc)\b/i,
    what: 'a file that stores passwords',
  },
  { pattern: /[\\/]Keychains(?:[\\/:]|$)|login\.keychain|[\\/]keyrings(?:[\\/:]|$)/i, what: 'your keychain' },
  {
    pattern: /^\/etc\/(?:shadow|sudoers|passwd)\b|[=:]\/etc\/(?:shadow|sudoers)\b/i,
    what: 'the system’s accounts',
  },
  {
    pattern:
      /[\\/](?:Google[\\/]Chrome|\.config[\\/](?:google-chrome|chromium)|\.mozilla[\\/]firefox|Firefox[\\/]Profiles)/i,
    what: 'the data of your browser',
  },
  {
    pattern: /[\\/](?:claude_desktop_config|mcp)\.json\b|[\\/]\.cursor[\\/]mcp\.json/i,
    what: 'the settings of your MCP servers',
  },
  { pattern: /[\\/]wallet\.dat\b|[\\/]\.(?:ethereum|bitcoin|solana)(?:[\\/:]|$)/i, what: 'your wallet' },
]

/** The kind of private location of a path; undefined for ordinary paths. */
export function sensitivePath(path: string): string | undefined {
  return sensitiveLocations.find(({ pattern }) => pattern.test(path))?.what
}

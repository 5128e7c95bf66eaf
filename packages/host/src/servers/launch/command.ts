import { isIP } from 'node:net'
import { sensitivePath } from '../../core/trust/sensitive.ts'
import { unseenIn } from '../../shared/visible.ts'
import type { HttpServerConfig, ServerConfig, StdioServerConfig, TrustFinding } from '../../types/index.ts'
import { containerFindings } from './container.ts'
import { packageFindings, programName } from './package-runner.ts'
import { variableEffect } from './variables.ts'

const raisers = new Set(['sudo', 'doas', 'pkexec', 'su', 'runas', 'gsudo'])
const shells = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'fish', 'cmd', 'powershell', 'pwsh'])
const interpreters = new Set(['node', 'python', 'python3', 'perl', 'ruby', 'php', 'deno', 'bun', 'osascript'])
const launchers = new Set([
  ...interpreters,
  ...['npx', 'bunx', 'pnpm', 'yarn', 'npm', 'uvx', 'uv', 'pipx', 'docker', 'podman', 'java', 'dotnet', 'go'],
])
const containers = new Set(['docker', 'podman', 'nerdctl'])
const secretName =
  /(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PWD|PASSPHRASE|KEY|APIKEY|CREDENTIALS?|PAT|AUTH)(?:_|$)/i
const secretHeader = /^(?:authorization|cookie|x-api-key|api-key|x-auth-token|.*-(?:token|secret|key))$/i
const loopback = /^(?:localhost|.*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * What a person should look at before a server is started, or an address is spoken to, for the first time. It reads
 * the configuration and nothing else.
 */
export function scanCommand(config: ServerConfig): TrustFinding[] {
  return 'url' in config ? scanAddress(config) : scanProgram(config)
}

function scanProgram(config: StdioServerConfig): TrustFinding[] {
  const { command, args = [], env = {}, cwd } = config
  const words = [command, ...args]
  const program = programName(command)
  const line = words.join(' ')
  const found: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, at: string, message: string): void => {
    found.push({ severity, code, at, message })
  }
  const whole = 'command'

  const raised = words.findIndex(
    (word, n) => raisers.has(programName(word)) && (n === 0 || !word.includes('=')),
  )
  if (raised !== -1 || /(?:^|[\s;&|(])(?:sudo|doas|pkexec)\s/.test(line)) {
    add(
      'danger',
      'sudo',
      whole,
      'It runs with the rights of the administrator, so it can change anything here.',
    )
  }
  if (
    /(?<![-\w])rm\s+(?:-\w+\s+)*-\w*[rRf]|\bRemove-Item\b.{0,80}-Recurse|\bdel\s+\/s|\bmkfs\b|\bdd\s.{0,80}\bof=/i.test(
      line,
    )
  ) {
    add('danger', 'deletes-files', whole, 'Its command line deletes files before any tool is called.')
  }
  if (runsDownload(line)) {
    add(
      'danger',
      'runs-a-download',
      whole,
      'It downloads a script and runs it unseen; it can be another one every time.',
    )
  }
  if (
    /\s-(?:enc|encodedcommand|e)\s+[A-Za-z0-9+/=]{16,}/i.test(line) &&
    /^(?:powershell|pwsh)$/.test(program)
  ) {
    add('danger', 'encoded-command', whole, 'What it runs is encoded, so nobody can read it here.')
  }
  if (/base64\s+(?:-d|-D|--decode)/.test(line)) {
    add(
      'danger',
      'encoded-command',
      whole,
      'It decodes something and uses it, so nobody can read here what it runs.',
    )
  }
  if (shells.has(program) && args.some((arg) => /^(?:-(?!enc$)[a-z]*c|\/c|\/k|-command)$/i.test(arg))) {
    add('warning', 'shell', whole, 'It runs a shell script from its command line; read the script whole.')
  } else if (
    interpreters.has(program) &&
    args.some((arg) => /^(?:-e|-c|-p|-r|--eval|--print|eval)$/.test(arg))
  ) {
    add(
      'warning',
      'inline-program',
      whole,
      'It runs a program that is written into the command line; read it whole.',
    )
  }
  found.push(...packageFindings(program, args))
  if (containers.has(program)) found.push(...containerFindings(args))
  if (/^(?:\/tmp\/|\/var\/tmp\/|\/dev\/shm\/)|[\\/](?:Downloads|Temp)[\\/]/i.test(command)) {
    add(
      'warning',
      'temporary-program',
      whole,
      'The program lies in a folder for downloads or temporary files.',
    )
  }

  for (const [n, arg] of args.entries()) {
    const where = `args[${n}]`
    const path = sensitivePath(arg)
    // What a container is given is told with its mounts.
    if (containers.has(program)) continue
    if (path !== undefined) add('danger', 'sensitive-path', where, `It names ${path}.`)
    if (/^(?:\/|~|~\/|\$HOME|\$\{HOME\}|%USERPROFILE%|[A-Za-z]:\\?)$/.test(arg) && !containers.has(program)) {
      add('warning', 'wide-path', where, 'It is given the whole disk or the whole home folder.')
    }
  }
  if (cwd !== undefined) {
    const path = sensitivePath(cwd)
    if (path !== undefined) add('danger', 'sensitive-path', 'cwd', `It runs in ${path}.`)
  }
  for (const [name, value] of Object.entries(env)) found.push(...variableFindings(name, value, program))
  found.push(...hiddenIn(words, env))
  return found
}

function variableFindings(name: string, value: string, program: string): TrustFinding[] {
  const at = `env.${name}`
  const effect = variableEffect(name)
  if (effect !== undefined) return [{ ...effect, at }]
  if (name === 'NODE_TLS_REJECT_UNAUTHORIZED' && value === '0') {
    const message = 'It trusts any certificate, so its connections can be read and changed on the way.'
    return [{ severity: 'danger', code: 'no-certificate-check', at, message }]
  }
  const path = sensitivePath(value)
  if (path !== undefined) {
    return [{ severity: 'danger', code: 'sensitive-path', at, message: `It is given ${path}.` }]
  }
  if (!secretName.test(name)) return []
  const known = launchers.has(program)
  const message = `The program gets ${name}, which looks like a secret${known ? '' : ', and is none of the usual launchers'}.`
  return [{ severity: known ? 'notice' : 'warning', code: 'gets-a-secret', at, message }]
}

function scanAddress({ url: text, headers = {} }: HttpServerConfig): TrustFinding[] {
  const found: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    found.push({ severity, code, at: 'url', message })
  }
  found.push(...hiddenIn([text], headers))
  const url = URL.parse(text)
  if (url === null) return found
  const local = loopback.test(url.hostname)
  if (url.protocol === 'http:' && !local) {
    const secret = Object.keys(headers).some((name) => secretHeader.test(name))
    const more = secret ? ', along with the secret in its headers' : ''
    add(
      secret ? 'danger' : 'warning',
      'unencrypted',
      `Everything goes over the network unencrypted${more}; anybody on the way can read and change it. Use https.`,
    )
  }
  const address = isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0
  if (/^169\.254\.|^\[fe80:/i.test(url.hostname) || url.hostname === 'metadata.google.internal') {
    add(
      'danger',
      'link-local',
      'The address belongs to the machine’s own network, such as a cloud’s credential service.',
    )
  } else if (address && !local) {
    add('warning', 'ip-address', 'The address is a bare number; no name says whose it is.')
  }
  if (/(?:^|\.)xn--/.test(url.hostname)) {
    add(
      'warning',
      'look-alike-host',
      `The name is written with other letters than it seems; it is really ${url.hostname}.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    add(
      'warning',
      'credentials-in-address',
      'A user name or password stands in the address, where logs keep it.',
    )
  }
  if ([...url.searchParams.keys()].some((name) => secretName.test(name.replaceAll('-', '_')))) {
    add(
      'notice',
      'credentials-in-address',
      'A secret stands in the address, where logs keep it; a header is better.',
    )
  }
  return found
}

function hiddenIn(words: readonly string[], named: Readonly<Record<string, string>>): TrustFinding[] {
  const texts = [...words, ...Object.keys(named), ...Object.values(named)]
  if (!texts.some((text) => unseenIn(text).length > 0)) return []
  const message = 'It holds characters that do not show, so it is not what it looks like.'
  return [{ severity: 'danger', code: 'hidden-characters', at: 'command', message }]
}

function runsDownload(line: string): boolean {
  const download = String.raw`\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|fetch)\b`
  const runner = String.raw`(?:(?:ba|z|da|k|fi)?sh|python3?|node|perl|ruby|php|iex|invoke-expression)\b`
  return (
    new RegExp(`${download}[^|]{0,400}\\|\\s*(?:sudo\\s+)?(?:env\\s+)?(?:/[\\w/]+/)?${runner}`, 'i').test(
      line,
    ) ||
    new RegExp(`${runner}[^\\n]{0,60}(?:<\\(|\\$\\(|\`)\\s*${download}`, 'i').test(line) ||
    new RegExp(`(?:iex|invoke-expression)[\\s(]{1,4}[^\\n]{0,60}(?:${download}|downloadstring)`, 'i').test(
      line,
    )
  )
}

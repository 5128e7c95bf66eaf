import { isIP } from 'node:net'
import { posix, win32 } from 'node:path'
import { sensitivePath } from '../../core/trust/phrases.ts'
import { unseenIn } from '../../shared/visible.ts'
import type { HttpServerConfig, ServerConfig, StdioServerConfig, TrustFinding } from '../../types/index.ts'

const privilegeCommands = new Set(['sudo', 'doas', 'pkexec', 'su', 'runas', 'gsudo'])
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

/** Warnings to show before a server is first started or contacted. Reads only the configuration. */
export function scanCommand(config: ServerConfig): TrustFinding[] {
  return 'url' in config ? scanAddress(config) : scanProgram(config)
}

/** A command line in the forms that its checks read. */
interface CommandLine {
  readonly program: string
  readonly args: readonly string[]
  readonly words: readonly string[]
  readonly line: string
}

type CommandCheck = Pick<TrustFinding, 'severity' | 'code' | 'message'> & {
  readonly isFound: (command: CommandLine) => boolean
}

const commandChecks: readonly CommandCheck[] = [
  {
    severity: 'danger',
    code: 'sudo',
    message: 'It runs with the rights of the administrator, so it can change anything here.',
    isFound: ({ words, line }) =>
      words.some((word, n) => privilegeCommands.has(programName(word)) && (n === 0 || !word.includes('='))) ||
      /(?:^|[\s;&|(])(?:sudo|doas|pkexec)\s/.test(line),
  },
  {
    severity: 'danger',
    code: 'deletes-files',
    message: 'Its command line deletes files before any tool is called.',
    isFound: ({ line }) =>
      /(?<![-\w])rm\s+(?:-\w+\s+)*-\w*[rRf]|\bRemove-Item\b.{0,80}-Recurse|\bdel\s+\/s|\bmkfs\b|\bdd\s.{0,80}\bof=/i.test(
        line,
      ),
  },
  {
    severity: 'danger',
    code: 'runs-a-download',
    message: 'It downloads a script and runs it unseen; the script can differ every time.',
    isFound: ({ line }) => runsDownload(line),
  },
  {
    severity: 'danger',
    code: 'encoded-command',
    message: 'The command is encoded, so it cannot be reviewed.',
    isFound: ({ program, line }) =>
      /^(?:powershell|pwsh)$/.test(program) &&
      /\s-(?:enc|encodedcommand|e)\s+[A-Za-z0-9+/=]{16,}/i.test(line),
  },
  {
    severity: 'danger',
    code: 'encoded-command',
    message: 'It decodes data and runs it, so the command cannot be reviewed.',
    isFound: ({ line }) => /base64\s+(?:-d|-D|--decode)/.test(line),
  },
  {
    severity: 'warning',
    code: 'shell',
    message: 'It runs a shell script from its command line; read the whole script.',
    isFound: ({ program, args }) =>
      shells.has(program) && args.some((arg) => /^(?:-(?!enc$)[a-z]*c|\/c|\/k|-command)$/i.test(arg)),
  },
  {
    severity: 'warning',
    code: 'inline-program',
    message: 'It runs a program that is written into the command line; read all of it.',
    isFound: ({ program, args }) =>
      interpreters.has(program) && args.some((arg) => /^(?:-e|-c|-p|-r|--eval|--print|eval)$/.test(arg)),
  },
]

function scanProgram({ command, args = [], env = {}, cwd }: StdioServerConfig): TrustFinding[] {
  const words = [command, ...args]
  const program = programName(command)
  const commandLine: CommandLine = { program, args, words, line: words.join(' ') }
  const findings: TrustFinding[] = commandChecks
    .filter(({ isFound }) => isFound(commandLine))
    .map(({ severity, code, message }) => ({ severity, code, at: 'command', message }))
  findings.push(...packageFindings(program, args))
  if (containers.has(program)) findings.push(...containerFindings(args))
  if (/^(?:\/tmp\/|\/var\/tmp\/|\/dev\/shm\/)|[\\/](?:Downloads|Temp)[\\/]/i.test(command)) {
    const message = 'The program is in a folder for downloads or temporary files.'
    findings.push({ severity: 'warning', code: 'temporary-program', at: 'command', message })
  }
  // A container's mounts are reported separately.
  if (!containers.has(program)) findings.push(...args.flatMap(argumentFindings))
  const path = cwd === undefined ? undefined : sensitivePath(cwd)
  if (path !== undefined)
    findings.push({ severity: 'danger', code: 'sensitive-path', at: 'cwd', message: `It runs in ${path}.` })
  for (const [name, value] of Object.entries(env)) findings.push(...variableFindings(name, value, program))
  findings.push(...hiddenCharacterFindings(words, env))
  return findings
}

function argumentFindings(arg: string, n: number): TrustFinding[] {
  const at = `args[${n}]`
  const findings: TrustFinding[] = []
  const path = sensitivePath(arg)
  if (path !== undefined)
    findings.push({ severity: 'danger', code: 'sensitive-path', at, message: `It names ${path}.` })
  if (/^(?:\/|~|~\/|\$HOME|\$\{HOME\}|%USERPROFILE%|[A-Za-z]:\\?)$/.test(arg)) {
    const message = 'It gets access to the whole disk or the whole home folder.'
    findings.push({ severity: 'warning', code: 'wide-path', at, message })
  }
  return findings
}

function variableFindings(name: string, value: string, program: string): TrustFinding[] {
  const at = `env.${name}`
  const effect = variableEffect(name)
  if (effect !== undefined) return [{ ...effect, at }]
  if (name === 'NODE_TLS_REJECT_UNAUTHORIZED' && value === '0') {
    const message = 'It trusts any certificate, so its connections can be read and changed in transit.'
    return [{ severity: 'danger', code: 'no-certificate-check', at, message }]
  }
  const path = sensitivePath(value)
  if (path !== undefined) {
    return [{ severity: 'danger', code: 'sensitive-path', at, message: `It gets access to ${path}.` }]
  }
  if (!secretName.test(name)) return []
  const known = launchers.has(program)
  const message = `The program gets ${name}, which looks like a secret${known ? '' : ', and is not one of the usual launchers'}.`
  return [{ severity: known ? 'notice' : 'warning', code: 'gets-a-secret', at, message }]
}

function scanAddress({ url: text, headers = {} }: HttpServerConfig): TrustFinding[] {
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, message: string): void => {
    findings.push({ severity, code, at: 'url', message })
  }
  findings.push(...hiddenCharacterFindings([text], headers))
  const url = URL.parse(text)
  if (url === null) return findings
  const isLocal = loopback.test(url.hostname)
  if (url.protocol === 'http:' && !isLocal) {
    const hasSecretHeader = Object.keys(headers).some((name) => secretHeader.test(name))
    const more = hasSecretHeader ? ', along with the secret in its headers' : ''
    add(
      hasSecretHeader ? 'danger' : 'warning',
      'unencrypted',
      `The connection is not encrypted${more}; others on the network can read and change it. Use https.`,
    )
  }
  const address = isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0
  if (/^169\.254\.|^\[fe80:/i.test(url.hostname) || url.hostname === 'metadata.google.internal') {
    add(
      'danger',
      'link-local',
      'The address belongs to the machine’s own network, such as a cloud’s credential service.',
    )
  } else if (address && !isLocal) {
    add('warning', 'ip-address', 'The address is an IP address, so no name shows its owner.')
  }
  if (/(?:^|\.)xn--/.test(url.hostname)) {
    add(
      'warning',
      'look-alike-host',
      `The name is written with other letters than it seems; it is really ${url.hostname}.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    add('warning', 'credentials-in-address', 'The URL contains a user name or password, which logs record.')
  }
  if ([...url.searchParams.keys()].some((name) => secretName.test(name.replaceAll('-', '_')))) {
    add(
      'notice',
      'credentials-in-address',
      'The URL contains a secret, which logs record; use a header instead.',
    )
  }
  return findings
}

function hiddenCharacterFindings(
  words: readonly string[],
  namedTexts: Readonly<Record<string, string>>,
): TrustFinding[] {
  const texts = [...words, ...Object.keys(namedTexts), ...Object.values(namedTexts)]
  if (!texts.some((text) => unseenIn(text).length > 0)) return []
  const message = 'It contains invisible characters, so it is not what it looks like.'
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

const containerEscapes: readonly { pattern: RegExp; message: string }[] = [
  {
    pattern: /^--privileged(?:=true)?$/,
    message: 'The container is privileged: it can escape its isolation.',
  },
  {
    pattern: /^--cap-add=(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|DAC_READ_SEARCH)$/i,
    message: 'The container gets rights that let it escape its isolation.',
  },
  {
    pattern: /^--(?:pid|ipc|userns|uts|cgroupns)=host$/,
    message: 'The container shares the processes of this machine.',
  },
  {
    pattern: /^--security-opt=.*(?:unconfined|disable)/,
    message: 'The container runs without the usual protection.',
  },
]
const hostNetwork = /^--net(?:work)?=host$/
const mountOption = /^(?:-v|--volume|--mount)=/
const containerOptionWithValue =
  /^(?:-v|-e|-p|-u|-w|-l|-h|-m|--(?:volume|mount|env|env-file|publish|user|workdir|name|label|network|net|cap-add|pid|ipc|userns|uts|security-opt|entrypoint|platform|add-host|dns|memory|cpus|hostname|pull|gpus|device|tmpfs))$/

/** The access that options of `docker run` and the like give a container, and whether its image is pinned. */
function containerFindings(args: readonly string[]): TrustFinding[] {
  const findings: TrustFinding[] = []
  const add = (severity: TrustFinding['severity'], code: string, n: number, message: string): void => {
    findings.push({ severity, code, at: `args[${n}]`, message })
  }
  const run = args.findIndex((arg) => arg === 'run' || arg === 'create')
  for (let n = run + 1; n < args.length; n++) {
    const arg = args[n] ?? ''
    if (!arg.startsWith('-')) {
      if (run !== -1) addImageFinding(arg, n, add)
      break
    }
    const option = containerOptionWithValue.test(arg) ? `${arg}=${args[n + 1] ?? ''}` : arg
    const message = containerEscapes.find(({ pattern }) => pattern.test(option))?.message
    if (message !== undefined) add('danger', 'container-without-walls', n, message)
    if (hostNetwork.test(option)) {
      add(
        'warning',
        'host-network',
        n,
        'The container uses the network of this machine, including services that only this machine can reach.',
      )
    }
    if (mountOption.test(option)) addMountFinding(option.replace(mountOption, ''), n, add)
    if (containerOptionWithValue.test(arg)) n++
  }
  return findings
}

type Add = (severity: TrustFinding['severity'], code: string, n: number, message: string) => void

function addMountFinding(value: string, n: number, add: Add): void {
  const source =
    /(?:^|,)(?:source|src)=([^,]+)/.exec(value)?.[1] ?? value.replace(/^([A-Za-z]:)?([^:]*).*/, '$1$2')
  if (/docker\.sock|containerd\.sock|podman\.sock/.test(source)) {
    add(
      'danger',
      'container-without-walls',
      n,
      'The container can start others with any rights, because it has the socket of the container service.',
    )
  } else if (sensitivePath(source) !== undefined) {
    add('danger', 'sensitive-path', n, `The container gets access to ${sensitivePath(source)}.`)
  } else if (
    /^(?:\/|~\/?|\$HOME\/?|\$\{(?:env:)?HOME\}\/?|\/(?:etc|root|home|Users|var|proc|sys|dev)(?:\/[^/]*)?\/?|[A-Za-z]:[\\/]?)$/.test(
      source,
    )
  ) {
    add('danger', 'host-mount', n, `The container gets access to ${source} of this machine.`)
  } else if (/^[./~$\\]|^[A-Za-z]:/.test(source)) {
    add('notice', 'host-mount', n, `The container gets access to ${source} of this machine.`)
  }
}

function addImageFinding(name: string, n: number, add: Add): void {
  if (name.includes('@sha256:')) return
  const tag = /:([\w.-]+)$/.exec(name)?.[1]
  if (tag === undefined || tag === 'latest') {
    add(
      'warning',
      'unpinned-image',
      n,
      `${name} can be changed by its publisher; name a version or a digest.`,
    )
  }
}

/** Options of package runners that take a value. */
const runnerOptionWithValue = /^(?:--python|--index|--index-url|--extra-index-url|--registry|-C|--cache)$/
/** Options that name a package; its install scripts may run any code. */
const packageOption = /^(?:-p|--package|--from|--spec|--with)(?:=|$)/
/** Options of npm and pnpm that run a shell command. */
const scriptOption = /^(?:-c|--call|--shell-mode)(?:=|$)/
const runsScripts = new Set(['npx', 'pnpx', 'npm', 'pnpm'])

/** The package that a runner such as `npx` or `uvx` fetches and runs. */
interface RunnerPackages {
  packages: { name: string; at: number }[]
  runsScript: boolean
}

/** Warns if a runner fetches the newest version of a package, or runs a script in a shell. */
function packageFindings(program: string, args: readonly string[]): TrustFinding[] {
  const start = packageIndex(program, args)
  if (start === undefined) return []
  const { packages, runsScript } = readPackages(program, args, start)
  const message = 'It runs a shell script from its command line; read the whole script.'
  const shell: TrustFinding[] = runsScript
    ? [{ severity: 'warning', code: 'shell', at: 'command', message }]
    : []
  const unpinned = packages.find(({ name }) => !isPinned(name))
  return unpinned === undefined ? shell : [...shell, unpinnedFinding(unpinned)]
}

function unpinnedFinding({ name, at }: { name: string; at: number }): TrustFinding {
  const message = isOutsideRegistry(name)
    ? `${name} is fetched from outside the package registry, and its contents are not pinned.`
    : `${name} has no exact version, so each start may run another program. Add a version to its name.`
  return { severity: 'warning', code: 'unpinned-package', at: `args[${at}]`, message }
}

/** Programs that run the program named after them. */
const wrappers = new Set(['env', 'nice', 'nohup', 'time', 'timeout', 'stdbuf', 'setsid', 'exec', 'corepack'])
/** Scripts that implement these programs. */
const scripts: Readonly<Record<string, string>> = {
  'npx-cli.js': 'npx',
  'npm-cli.js': 'npm',
  'pnpm.cjs': 'pnpm',
  'pnpx.cjs': 'pnpx',
  'yarn.js': 'yarn',
}

/** Whether a command line fetches a package and runs it, also through `env`, `cmd /c`, Node.js or `python -m`. */
export function runsPackage(command: string, args: readonly string[]): boolean {
  const program = programName(command)
  if (wrappers.has(program)) {
    const next = args.findIndex((arg) => !/^-|^\w+=|^[\d.]+[smhd]?$/.test(arg))
    return next !== -1 && runsPackage(args[next] ?? '', args.slice(next + 1))
  }
  if (program === 'cmd' && /^\/[ck]$/i.test(args[0] ?? '')) return runsPackage(args[1] ?? '', args.slice(2))
  if (/^(?:node|nodejs|bun|python[\d.]*|pypy[\d.]*)$/.test(program)) {
    const next = args.findIndex((arg) => !arg.startsWith('-'))
    const word = posix.basename((args[next] ?? '').replaceAll('\\', '/'))
    const meant = Object.hasOwn(scripts, word) ? (scripts[word] ?? word) : args[next - 1] === '-m' ? word : ''
    if (meant !== '') return runsPackage(meant, args.slice(next + 1))
  }
  return program === 'dnx' || packageIndex(program, args) !== undefined
}

/** Milliseconds within which a server must be connected whose program may be downloaded first. */
export const downloadTimeoutMs = 60_000

/** Whether starting a server may first download its program: a package, or an image of a container. */
export function mayDownload(config: ServerConfig): boolean {
  if (!('command' in config)) return false
  const { command, args = [] } = config
  const isContainer = /^(?:docker|podman)$/.test(programName(command)) && args.includes('run')
  return isContainer || runsPackage(command, args)
}

/** A program by its name alone. */
export function programName(command: string): string {
  const name = command.includes('\\') ? win32.basename(command) : posix.basename(command)
  return name.toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, '')
}

/** Index of the first package word, for package runners. */
function packageIndex(program: string, args: readonly string[]): number | undefined {
  if (program === 'npx' || program === 'bunx' || program === 'uvx' || program === 'pnpx') return 0
  const verbs = args.filter((arg) => !arg.startsWith('-')).slice(0, 2)
  const indexAfter = (verb: string): number => args.indexOf(verb) + 1
  const [first = '', second = ''] = verbs
  if ((program === 'pnpm' || program === 'yarn') && first === 'dlx') return indexAfter('dlx')
  if (program === 'npm' && (first === 'exec' || first === 'x')) return indexAfter(first)
  if (program === 'bun' && first === 'x') return indexAfter('x')
  if (program === 'pipx' && first === 'run') return indexAfter('run')
  if (program === 'uv' && first === 'tool' && second === 'run') return indexAfter('run')
  if (program === 'deno' && first === 'run' && args.some((arg) => /^(?:npm|jsr|https?):/.test(arg))) {
    return args.findIndex((arg) => /^(?:npm|jsr|https?):/.test(arg))
  }
  return undefined
}

function readPackages(program: string, args: readonly string[], start: number): RunnerPackages {
  const isScript = runsScripts.has(program)
  const isPythonRunner = program === 'uvx' || program === 'uv'
  const packages: RunnerPackages['packages'] = []
  let runsScript = false
  for (let n = start; n < args.length; n++) {
    const arg = args[n] ?? ''
    const equals = arg.indexOf('=')
    if (runnerOptionWithValue.test(arg) || (isPythonRunner && arg === '-p')) {
      n++
    } else if (packageOption.test(arg)) {
      packages.push(equals === -1 ? { name: args[++n] ?? '', at: n } : { name: arg.slice(equals + 1), at: n })
    } else if (isScript && scriptOption.test(arg)) {
      runsScript = true
    } else if (!runsScript && arg !== '--' && !arg.startsWith('-')) {
      return { packages: packages.length > 0 ? packages : [{ name: arg, at: n }], runsScript }
    }
  }
  return { packages, runsScript }
}

function isOutsideRegistry(name: string): boolean {
  return (
    /^(?:git\+|git:|https?:|github:|gitlab:|ssh:)|^[\w.-]+\/[\w.-]+(?:#|$)/.test(name) &&
    !name.startsWith('@')
  )
}

function isPinned(name: string): boolean {
  if (/^(?:\.{0,2}[\\/]|~|file:|[A-Za-z]:[\\/])/.test(name)) return true
  if (/(?:#|@)[0-9a-f]{40}\b/.test(name)) return true
  return /.(?:@|==)v?\d+\.\d+\.\d+(?:[-+.][\w.+-]+)?$/.test(
    name.replace(/^(?:npm|jsr):/, '').replace(/\[[^\]]*\]/, ''),
  )
}

type VariableEffect = Pick<TrustFinding, 'severity' | 'code' | 'message'>

/** Variables that only affect output or timing, although their names match the prefixes below. */
const harmlessVariables =
  /^(?:PYTHON(?:UNBUFFERED|IOENCODING|UTF8|DONTWRITEBYTECODE|HASHSEED|FAULTHANDLER)|(?:npm_config|UV|PIP)_(?:yes|loglevel|quiet|color|no_color|progress|no_progress|update_notifier|fund|audit|disable_pip_version_check|http_timeout|default_timeout))$/i
const codeLoadingVariables =
  /^(?:LD_\w+|DYLD_\w+|GCONV_PATH|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PERL5OPT|PERL5LIB|PERLLIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|GIT_SSH|GIT_SSH_COMMAND|GIT_EXEC_PATH|DOTNET_STARTUP_HOOKS|DOTNET_ADDITIONAL_DEPS|(?:CORECLR|COR)_PROFILER\w*)$/i
const programChoosingVariables =
  /^(?:PATH|PATHEXT|COMSPEC|SHELL|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|XDG_(?:CONFIG_HOME|CONFIG_DIRS|DATA_HOME|CACHE_HOME)|npm_config_.+|(?:NPM|UV|PIP|PIPX|PYTHON|PNPM|YARN|BUN|DENO|COREPACK|NUGET|DOTNET|CARGO|RUSTUP|DOCKER|CONTAINER|GIT|GEM|BUNDLE|VOLTA|NVM|FNM|PYENV|CONDA|JAVA)_\w+|PYTHON\w+|GO(?:PROXY|FLAGS|NOSUMDB|NOSUMCHECK|PRIVATE|SUMDB|INSECURE|ENV|PATH|ROOT|BIN)|VIRTUAL_ENV|INIT_CWD)$/i
const networkVariables =
  /^(?:(?:HTTPS?|ALL|FTP|NO)_PROXY|NODE_EXTRA_CA_CERTS|NODE_USE_(?:SYSTEM_CA|ENV_PROXY)|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL|AWS)_CA_BUNDLE|OPENSSL_CONF|OPENSSL_MODULES)$/i

/** The effect of setting a variable, if it can change what a program runs or contacts; undefined if it cannot. */
export function variableEffect(name: string): VariableEffect | undefined {
  if (harmlessVariables.test(name)) return undefined
  if (codeLoadingVariables.test(name)) {
    const message = `${name} makes a program load code that its command line does not show.`
    return { severity: 'danger', code: 'loads-code', message }
  }
  if (programChoosingVariables.test(name)) {
    const message = `${name} changes which programs or packages run, whatever the command line shows.`
    return { severity: 'danger', code: 'changes-what-runs', message }
  }
  if (!networkVariables.test(name)) return undefined
  const message = `${name} changes where its connections go or whose certificates it trusts.`
  return { severity: 'warning', code: 'changes-connections', message }
}

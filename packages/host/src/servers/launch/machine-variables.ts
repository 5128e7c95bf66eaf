import { type ConfigEnvironment, isSecretName } from '../../config/variables.ts'
import { exists } from '../../shared/files.ts'
import type { StdioServerConfig } from '../../types/index.ts'

/** A variable that configures network access and package sources of programs. */
export interface MachineVariable {
  /** The name of the variable, in the case in which it is set. */
  name: string
  /** Its value in the environment of this process. */
  value: string
  /** What it configures. */
  kind: Kind
  /** Whether it contains a user name, a password or a token. */
  isCredential: boolean
}

type Kind = 'certificates' | 'proxy' | 'packages' | 'folder'

const kinds: readonly (readonly [kind: Kind, names: RegExp])[] = [
  [
    'certificates',
    /^(?:NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|AWS_CA_BUNDLE|NIX_SSL_CERT_FILE|GRPC_DEFAULT_SSL_ROOTS_FILE_PATH|HTTPLIB2_CA_CERTS|GIT_SSL_CAINFO|DENO_CERT|DENO_TLS_CA_STORE|UV_NATIVE_TLS|UV_SYSTEM_CERTS|PIP_CERT|npm_config_(?:ca|cafile|strict_ssl))$/i,
  ],
  [
    'proxy',
    /^(?:(?:https?|all|no)_proxy|NODE_USE_ENV_PROXY|PIP_PROXY|npm_config_(?:proxy|https_proxy|noproxy))$/i,
  ],
  [
    'packages',
    /^(?:npm_config_(?:registry|@[^:/]+:registry|\/\/.+|offline|prefer_offline)|COREPACK_NPM_REGISTRY|BUN_CONFIG_REGISTRY|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST)|UV_(?:INDEX|INDEX_URL|DEFAULT_INDEX|EXTRA_INDEX_URL|INDEX_STRATEGY|INDEX_\w+_(?:USERNAME|PASSWORD)|INSECURE_HOST|OFFLINE|PYTHON_INSTALL_MIRROR|PYPY_INSTALL_MIRROR)|GOPROXY)$/i,
  ],
  [
    'folder',
    /^(?:npm_config_(?:userconfig|globalconfig|cache)|PIP_(?:CONFIG_FILE|CACHE_DIR|CLIENT_CERT|FIND_LINKS)|UV_(?:CONFIG_FILE|CACHE_DIR|FIND_LINKS|TOOL_DIR|PYTHON_INSTALL_DIR))$/i,
  ],
]
const credentialName = /^UV_INDEX_\w+_USERNAME$|_auth$/i
const credentialValue =
  /(?:^|[\s,=]|:\/\/)[^\s/?#,=@]+@[^\s@]|[?&][^=&#\s]*(?:token|key|secret|passw|auth)[^=&#\s]*=./i

/** The environment variables that every started server gets, unless they contain credentials. */
export function machineVariables(env: ConfigEnvironment): MachineVariable[] {
  return Object.entries(env).flatMap(([name, value]): MachineVariable[] => {
    const kind = kinds.find(([, names]) => names.test(name))?.[0]
    // A value with this prefix is an exported shell function.
    if (kind === undefined || value === undefined || value === '' || value.startsWith('()')) return []
    const mayHoldUrl = kind === 'proxy' || kind === 'packages'
    const hasSecretName = isSecretName(name) || credentialName.test(name)
    return [{ name, value, kind, isCredential: hasSecretName || (mayHoldUrl && credentialValue.test(value)) }]
  })
}

/** The secret parts of a value: all of it, and the part before the `@` of a URL. */
export function secretsIn(value: string): string[] {
  const addresses = value.matchAll(/:\/\/([^\s/?#@:]*):?([^\s/?#@]*)@/g)
  return [value, ...Array.from(addresses, ([, user = '', password]) => password || user)]
}

/** Those a server can use: its own settings take precedence, ignoring case. */
export function variablesFor(
  { env = {}, sandbox }: StdioServerConfig,
  environment: ConfigEnvironment,
): MachineVariable[] {
  const configuredNames = new Set(Object.keys(env).map((name) => name.toUpperCase()))
  const isOutside = sandbox === undefined || sandbox === false
  const sharesNetwork = typeof sandbox === 'object' && sandbox.network === true
  // A sandbox has its own proxy, and does not contain the user's folders.
  const isUseful = (kind: Kind): boolean =>
    isOutside || kind === 'certificates' || kind === 'packages' || (kind === 'proxy' && sharesNetwork)
  return machineVariables(environment).filter(
    ({ name, kind }) => !configuredNames.has(name.toUpperCase()) && isUseful(kind),
  )
}

/** A server with these variables in addition to its own. A sandbox may read the certificate files. */
export async function withMachineVariables(
  config: StdioServerConfig,
  variables: readonly MachineVariable[],
): Promise<StdioServerConfig> {
  if (variables.length === 0) return config
  const env = { ...Object.fromEntries(variables.map(({ name, value }) => [name, value])), ...config.env }
  const { sandbox } = config
  if (sandbox === undefined || sandbox === false) return { ...config, env }
  const access = sandbox === true ? {} : sandbox
  const certificates = variables.flatMap(({ kind, value }) => (kind === 'certificates' ? [value] : []))
  const exist = await Promise.all(certificates.map(isFileOrFolder))
  const read = [...(access.read ?? []), ...certificates.filter((_, index) => exist[index])]
  return { ...config, env, sandbox: { ...access, read } }
}

async function isFileOrFolder(path: string): Promise<boolean> {
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(path)) return false
  return exists(path)
}

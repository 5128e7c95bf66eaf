import type { TrustFinding } from '../../types/index.ts'

type Effect = Pick<TrustFinding, 'severity' | 'code' | 'message'>

/** Variables that only change what a program prints or how long it waits, though their names begin like others below. */
const harmless =
  /^(?:PYTHON(?:UNBUFFERED|IOENCODING|UTF8|DONTWRITEBYTECODE|HASHSEED|FAULTHANDLER)|(?:npm_config|UV|PIP)_(?:yes|loglevel|quiet|color|no_color|progress|no_progress|update_notifier|fund|audit|disable_pip_version_check|http_timeout|default_timeout))$/i
const loading =
  /^(?:LD_\w+|DYLD_\w+|GCONV_PATH|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PERL5OPT|PERL5LIB|PERLLIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|GIT_SSH|GIT_SSH_COMMAND|GIT_EXEC_PATH|DOTNET_STARTUP_HOOKS|DOTNET_ADDITIONAL_DEPS|(?:CORECLR|COR)_PROFILER\w*)$/i
const choosing =
  /^(?:PATH|PATHEXT|COMSPEC|SHELL|HOME|USERPROFILE|APPDATA|LOCALAPPDATA|XDG_(?:CONFIG_HOME|CONFIG_DIRS|DATA_HOME|CACHE_HOME)|npm_config_.+|(?:NPM|UV|PIP|PIPX|PYTHON|PNPM|YARN|BUN|DENO|COREPACK|NUGET|DOTNET|CARGO|RUSTUP|DOCKER|CONTAINER|GIT|GEM|BUNDLE|VOLTA|NVM|FNM|PYENV|CONDA|JAVA)_\w+|PYTHON\w+|GO(?:PROXY|FLAGS|NOSUMDB|NOSUMCHECK|PRIVATE|SUMDB|INSECURE|ENV|PATH|ROOT|BIN)|VIRTUAL_ENV|INIT_CWD)$/i
const network =
  /^(?:(?:HTTPS?|ALL|FTP|NO)_PROXY|NODE_EXTRA_CA_CERTS|NODE_USE_(?:SYSTEM_CA|ENV_PROXY)|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL|AWS)_CA_BUNDLE|OPENSSL_CONF|OPENSSL_MODULES)$/i

/** What setting a variable of this name does to a program besides giving it a value; undefined where that is nothing. */
export function variableEffect(name: string): Effect | undefined {
  if (harmless.test(name)) return undefined
  if (loading.test(name)) {
    const message = `${name} makes a program load code that its command line does not show.`
    return { severity: 'danger', code: 'loads-code', message }
  }
  if (choosing.test(name)) {
    const message = `${name} changes which programs or packages run, whatever the command line shows.`
    return { severity: 'danger', code: 'changes-what-runs', message }
  }
  if (!network.test(name)) return undefined
  const message = `${name} changes where its connections go or whose certificates it trusts.`
  return { severity: 'warning', code: 'changes-connections', message }
}

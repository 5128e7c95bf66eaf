import { isUtf8 } from 'node:buffer'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ToolError } from '@jackfield/sdk'
import { pathFolders } from './git.ts'
import { clip, oneLine, records } from './text.ts'

/*
 * What a repository can configure, and why none of it runs a program. A repository is data from a third party: its `.git/config`,
 * hooks and attributes may come from an archive. Git runs programs named there: hooks, filters (clean, smudge, process), a file
 * system monitor, external diff and text conversion, merge drivers, signature programs, pagers, transports of a lazy fetch.
 *
 * - The environment is built from a short list, so that no GIT_* variable of the parent process has an effect.
 * - System and global configuration are not read by the commands. A few harmless values of the user are passed on.
 * - Fixed values are set for every key that names one program. Configuration from the environment has the highest precedence.
 * - Keys with a free part, such as `filter.<name>.clean`, are read first with `git config --list`, which runs nothing, and each
 *   is overridden. Values are passed as GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n: with `-c`, a `=` in a name would split it.
 * - Commands add `--no-ext-diff --no-textconv` where they print differences.
 */

/** One configuration value in effect for a repository. */
interface ConfigEntry {
  scope: string
  /** Section and variable in lower case, the subsection as written. */
  key: string
  value: string
}

/** The configuration that the commands on one repository run with. */
export interface SafeConfig {
  /** Values that override the repository's. */
  values: readonly (readonly [key: string, value: string])[]
  /** Keys of the repository that name programs, and have no effect here. */
  ignored: readonly string[]
  /** Filters that git itself would run for this user, by the name that `.gitattributes` uses. */
  filters: ReadonlySet<string>
}

/** Variables that git or the system libraries need. `JACKFIELD_SERVER_ID` lets a host find the processes of a server. */
const inheritedVariables = [
  'HOME',
  'USER',
  'LOGNAME',
  'TMPDIR',
  'TMP',
  'TEMP',
  'TZ',
  'XDG_CONFIG_HOME',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'USERPROFILE',
  'HOMEDRIVE',
  'HOMEPATH',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'JACKFIELD_SERVER_ID',
]

const fixedVariables: Readonly<Record<string, string>> = {
  LC_ALL: 'C.UTF-8',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  // With the editor ":" git edits nothing.
  GIT_EDITOR: ':',
  GIT_SEQUENCE_EDITOR: ':',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  // Missing objects of a partial clone are not fetched; transports are refused in versions that fetch nevertheless.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_PROTOCOL_FROM_USER: '0',
  // An id shows the object that it names, not one that the repository puts in its place.
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_LITERAL_PATHSPECS: '1',
}

const fixedConfig: readonly (readonly [key: string, value: string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', ':'],
  ['sequence.editor', ':'],
  ['core.askPass', ''],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', 'false'],
  ['core.alternateRefsCommand', 'false'],
  ['core.protectHFS', 'true'],
  ['core.protectNTFS', 'true'],
  ['core.quotePath', 'true'],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['uploadpack.packObjectsHook', 'false'],
  ['gpg.program', 'false'],
  ['gpg.openpgp.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.ssh.defaultKeyCommand', 'false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  ['log.showSignature', 'false'],
  ['log.follow', 'false'],
  ['submodule.recurse', 'false'],
  ['status.submoduleSummary', 'false'],
  ['diff.submodule', 'short'],
  // Files outside the repository, whose lines can be part of an error message.
  ['diff.orderFile', '/dev/null'],
  ['mailmap.file', ''],
  ['mailmap.blob', ''],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['branch.autoSetupMerge', 'false'],
  ['checkout.guess', 'false'],
  ['safe.bareRepository', 'explicit'],
  ['user.useConfigOnly', 'true'],
  ['color.ui', 'false'],
  ['i18n.commitEncoding', 'UTF-8'],
  ['i18n.logOutputEncoding', 'UTF-8'],
]

/** Values of the user's own configuration that have an effect unless the repository sets them. */
const userKeys: ReadonlySet<string> = new Set([
  'user.name',
  'user.email',
  'author.name',
  'author.email',
  'committer.name',
  'committer.email',
  'core.autocrlf',
  'core.eol',
  'core.safecrlf',
  'core.filemode',
  'core.ignorecase',
  'core.longpaths',
  'core.precomposeunicode',
  'core.symlinks',
  'diff.algorithm',
  'diff.renames',
  'diff.renamelimit',
])

/** Files of patterns. Only the user names them: a repository could name any file of the account. */
const userFiles: Readonly<Record<string, string>> = {
  'core.excludesfile': 'ignore',
  'core.attributesfile': 'attributes',
}

/** Last parts of keys whose value is, or contains, a program. */
const programKey =
  /^(fsmonitor|hookspath|pager|editor|askpass|sshcommand|gitproxy|alternaterefscommand|helper|program|defaultkeycommand|external|command|cmd|textconv|driver|clean|smudge|process|packobjectshook|uploadpack|receivepack|vcs|difffilter|path|update)$/
const harmlessPath = /^(submodule|includeif|include)\./

const maxOverrides = 500
/** Maximum number of ignored keys in the status. */
const maxReportedKeys = 100

/** The variables of every git process. `config` are the values from `safeConfig`. */
export function environment(
  config: readonly (readonly [key: string, value: string])[],
): Record<string, string> {
  const env: Record<string, string> = { PATH: pathFolders().join(delimiter), ...fixedVariables }
  for (const name of inheritedVariables) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  const values = [...fixedConfig, ...config]
  env['GIT_CONFIG_COUNT'] = String(values.length)
  for (const [at, [key, value]] of values.entries()) {
    env[`GIT_CONFIG_KEY_${at}`] = key
    env[`GIT_CONFIG_VALUE_${at}`] = value
  }
  return env
}

/** Variables that keep system and global configuration from being read. */
export const withoutUserConfig: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
}

/**
 * What to override, from the output of `git config --list --show-scope -z`.
 * @throws ToolError for names that cannot be overridden
 */
export function safeConfig(listed: Buffer): SafeConfig {
  const entries = parse(listed)
  const repositoryEntries = entries.filter(({ scope }) => scope === 'local' || scope === 'worktree')
  const userEntries = entries.filter(({ scope }) => scope === 'system' || scope === 'global')
  // Its address can be any folder of the account.
  if (repositoryEntries.some(({ key, value }) => key === 'extensions.refstorage' && value.includes(':'))) {
    throw new ToolError(
      'This repository stores its references at an address (extensions.refStorage), which this server does not use.',
    )
  }
  const values = new Map<string, string>()
  for (const { key } of repositoryEntries) {
    const [section = '', name = ''] = [key.slice(0, key.indexOf('.')), key.slice(0, key.lastIndexOf('.'))]
    const variable = key.slice(key.lastIndexOf('.') + 1)
    if (section === 'filter' && name.includes('.')) {
      for (const part of ['clean', 'smudge', 'process']) values.set(`${name}.${part}`, '')
      values.set(`${name}.required`, 'false')
    }
    if (section === 'hook' && name.includes('.')) values.set(`${name}.enabled`, 'false')
    if (section === 'merge' && variable === 'driver') values.set(key, 'false')
  }
  if (values.size > maxOverrides) {
    throw new ToolError(
      `The configuration of this repository defines too many filters, hooks and merge drivers (${values.size} values) to switch them off. Remove them from .git/config.`,
    )
  }
  for (const [key, value] of userValues(userEntries, repositoryEntries)) values.set(key, value)
  const ignored = repositoryEntries
    .map(({ key }) => key)
    .filter((key) => programKey.test(key.slice(key.lastIndexOf('.') + 1)) && !harmlessPath.test(key))
  const reported = [...new Set(ignored)].slice(0, maxReportedKeys).map((key) => oneLine(clip(key, 200)))
  return { values: [...values], ignored: reported, filters: filtersIn(entries) }
}

/** The names of filters with a program. */
function filtersIn(entries: readonly ConfigEntry[]): Set<string> {
  const names = entries.flatMap(({ key, value }) => {
    const name = /^filter\.(.*)\.(?:clean|smudge|process)$/s.exec(key)?.[1]
    return name === undefined || value === '' ? [] : [name]
  })
  return new Set(names)
}

/** The user's values to pass on. */
function userValues(
  userEntries: readonly ConfigEntry[],
  repositoryEntries: readonly ConfigEntry[],
): Map<string, string> {
  const set = new Set(repositoryEntries.map(({ key }) => key))
  const values = new Map<string, string>()
  for (const { key, value } of userEntries) if (userKeys.has(key) && !set.has(key)) values.set(key, value)
  for (const [key, file] of Object.entries(userFiles)) {
    const configured = userEntries.findLast((entry) => entry.key === key)?.value
    const home = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
    values.set(key, configured ?? join(home, 'git', file))
  }
  return values
}

function parse(listed: Buffer): ConfigEntry[] {
  const parts = records(listed)
  const entries: ConfigEntry[] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const entry = parts[at + 1] ?? Buffer.alloc(0)
    const end = entry.indexOf(10)
    const key = end === -1 ? entry : entry.subarray(0, end)
    if (!isUtf8(key)) {
      throw new ToolError(
        'The configuration of this repository has a name that is not UTF-8, which cannot be switched off. Remove it from .git/config.',
      )
    }
    // A name without a value is a boolean that is true.
    const value = end === -1 ? 'true' : entry.toString('utf8', end + 1)
    entries.push({ scope: String(parts[at]), key: key.toString('utf8'), value })
  }
  return entries
}

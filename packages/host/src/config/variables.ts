import { basename, sep } from 'node:path'
import type { GivenValue } from '../types/index.ts'

/** The environment for variables; `process.env` by default. */
export type ConfigEnvironment = Readonly<Record<string, string | undefined>>

/** A segment of a text with variables. */
export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'env'; name: string; fallback?: string; written: string }
  | { kind: 'input' | 'secret' | 'file'; name: string; written: string }
  | { kind: 'workspaceFolder' | 'workspaceFolderBasename' | 'userHome' | 'pathSeparator'; written: string }

/** The segments of a text, or why it is invalid. */
type Parts = { parts: Part[] } | { problem: string }

const placeholder =
  /\$\{(?:(workspaceFolder|userHome|workspaceFolderBasename|pathSeparator|\/)|([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?|([A-Za-z][A-Za-z0-9]*):(?!-)([^}]*))\}/g

/**
 * Splits a text at its variables: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:id}`, `${secret:name}`,
 * `${file:path}`, `${workspaceFolder}`, `${userHome}`. Every other use of `$` is text.
 */
export function partsOf(text: string): Parts {
  const parts: Part[] = []
  let position = 0
  for (const match of text.matchAll(placeholder)) {
    const [written, folderVariable, name, fallback, prefix, argument = ''] = match
    if (match.index > position) parts.push({ kind: 'text', text: text.slice(position, match.index) })
    position = match.index + written.length
    if (folderVariable !== undefined)
      parts.push({ kind: folderKinds[folderVariable] ?? 'pathSeparator', written })
    else if (name !== undefined)
      parts.push({ kind: 'env', name, written, ...(fallback !== undefined && { fallback }) })
    else {
      const part = prefixedPart(prefix ?? '', argument, written)
      if ('problem' in part) return part
      parts.push(part)
    }
  }
  if (position < text.length) parts.push({ kind: 'text', text: text.slice(position) })
  return { parts }
}

const folderKinds: Readonly<
  Record<string, 'workspaceFolder' | 'workspaceFolderBasename' | 'userHome' | 'pathSeparator'>
> = {
  workspaceFolder: 'workspaceFolder',
  workspaceFolderBasename: 'workspaceFolderBasename',
  userHome: 'userHome',
}

function prefixedPart(prefix: string, argument: string, written: string): Part | { problem: string } {
  if (prefix === 'workspaceFolder') return { kind: 'workspaceFolder', written }
  if (prefix === 'env') {
    const [, name, fallback] = /^([A-Za-z_][A-Za-z0-9_()]*)(?::-(.*))?$/s.exec(argument) ?? []
    if (name === undefined) return { problem: `${written} does not name an environment variable` }
    return { kind: 'env', name, written, ...(fallback !== undefined && { fallback }) }
  }
  if (prefix === 'input' || prefix === 'secret' || prefix === 'file') {
    if (argument.trim() === '') return { problem: `${written} has no name` }
    return { kind: prefix, name: argument.trim(), written }
  }
  return {
    problem: `${written} is not supported here. Put the value into an environment variable and write \${NAME}`,
  }
}

/** The value of an environment variable; as in a shell, a default also replaces an empty value. */
export function fromEnvironment(
  part: Extract<Part, { kind: 'env' }>,
  env: ConfigEnvironment,
): { text: string } | { problem: string } {
  const value = Object.hasOwn(env, part.name) ? env[part.name] : undefined
  if (part.fallback !== undefined)
    return { text: value === undefined || value === '' ? part.fallback : value }
  if (value !== undefined) return { text: value }
  return {
    problem: `the environment variable ${part.name} is not set. Set it, or give a default with \${${part.name}:-…}`,
  }
}

/** The folders for a file's variables. */
export interface ConfigFolders {
  /** `${workspaceFolder}` */
  workspace: string
  /** `${userHome}` */
  home: string
}

/** The value of a variable for a folder or a part of one. */
export function folderText(
  kind: 'workspaceFolder' | 'workspaceFolderBasename' | 'userHome' | 'pathSeparator',
  folders: ConfigFolders,
): string {
  if (kind === 'workspaceFolder') return folders.workspace
  if (kind === 'workspaceFolderBasename') return basename(folders.workspace)
  return kind === 'userHome' ? folders.home : sep
}

/** Expands environment and folder variables, for texts without secrets. */
export function expand(
  text: string,
  env: ConfigEnvironment,
  folders: ConfigFolders,
): { text: string } | { problem: string } {
  const read = partsOf(text)
  if ('problem' in read) return read
  const texts: string[] = []
  for (const part of read.parts) {
    if (part.kind === 'text') texts.push(part.text)
    else if (part.kind === 'env') {
      const variable = fromEnvironment(part, env)
      if ('problem' in variable) return variable
      texts.push(variable.text)
    } else if (part.kind === 'input' || part.kind === 'secret' || part.kind === 'file') {
      return { problem: `${part.written} cannot be used here: it is only valid in fields of a server` }
    } else texts.push(folderText(part.kind, folders))
  }
  return { text: texts.join('') }
}

/** A name that suggests a secret value. */
export function isSecretName(name: string): boolean {
  return /(?:^|[^a-z])(?:pat|pin|pwd)(?:$|[^a-z])|token|secret|passw|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|_key$|^key$|credential|authorization|auth$|cookie|bearer|signature|(?:connection|database)[-_]?(?:string|url|uri)|dsn$/i.test(
    name,
  )
}

/** Values as written; if the name suggests a secret, only a reference is shown. */
export function displayedValues(values: Readonly<Record<string, string>> = {}): GivenValue[] {
  return Object.entries(values).map(([name, value]) => {
    const read = partsOf(value)
    const isReference = 'parts' in read && read.parts.every(({ kind }) => kind !== 'text')
    const shownValue = isSecretName(name) && !isReference ? `[${name}]` : withoutPassword(value)
    return { name, value: shownValue }
  })
}

function withoutPassword(value: string): string {
  return value.replace(/(:\/\/[^\s/?#@:]*):[^\s/?#@]+@/g, '$1:[password]@')
}

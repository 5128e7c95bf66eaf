import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Client, type ConnectOptions, connect } from '@jackfield/sdk/client'
import { createFilesystemServer, type FilesystemOptions } from '@jackfield/server-filesystem'
import { onTestFinished } from 'vitest'

/** A session and a revision without sessions. */
export const eras = ['2025-06-18', '2026-07-28'] as const
export type Era = (typeof eras)[number]

/** A new folder with these files, removed after the test. A name that ends with a slash is a directory. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'jackfield-fs-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!name.endsWith('/')) writeFileSync(path, content)
  }
  return folder
}

/** A client of a new server, closed after the test. */
export async function clientOf(
  era: Era,
  options: FilesystemOptions,
  connectOptions: ConnectOptions = {},
): Promise<Client> {
  const server = await createFilesystemServer({ onWarning: () => {}, ...options })
  const client = await connect(server, { revisions: [era], ...connectOptions })
  onTestFinished(() => client.close())
  return client
}

interface Called {
  content: readonly { type: string; text?: string }[]
  isError?: boolean | undefined
}

/** The first text of a result. */
export function textOf({ content }: Called): string {
  return content.find(({ type }) => type === 'text')?.text ?? ''
}

/** All texts of a result. */
export function textsOf({ content }: Called): string[] {
  return content.flatMap(({ type, text }) => (type === 'text' ? [text ?? ''] : []))
}

/** The text of a call that has to fail. */
export function errorOf(result: Called): string {
  if (result.isError !== true) throw new Error(`The call succeeded: ${textOf(result)}`)
  return textOf(result)
}

export const accepting = { onElicit: () => ({ action: 'accept' as const, content: {} }) }
export const declining = { onElicit: () => ({ action: 'decline' as const }) }

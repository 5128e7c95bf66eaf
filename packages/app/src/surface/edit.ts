import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readJson } from '@jackfield/sdk/internal'
import { type Cancelled, cancelled, type Prompter } from '../forms/prompter.ts'

/** Whether the user has set an editor. */
export function hasEditor({ VISUAL, EDITOR }: NodeJS.ProcessEnv): boolean {
  return (VISUAL ?? EDITOR ?? '').trim() !== ''
}

/** Lets the user edit a text: in `$VISUAL` or `$EDITOR` if set, otherwise on one line. */
export async function editText(
  text: string,
  options: { prompter: Pick<Prompter, 'text' | 'say'>; env: NodeJS.ProcessEnv; suffix: string },
): Promise<string | Cancelled> {
  const editor = options.env.VISUAL ?? options.env.EDITOR
  if (editor === undefined || editor.trim() === '') {
    return options.prompter.text({ message: 'Edit', initial: text, validate: () => undefined })
  }
  const folder = await mkdtemp(join(tmpdir(), 'jackfield-edit-'))
  const file = join(folder, `edit${options.suffix}`)
  try {
    await writeFile(file, text, { mode: 0o600 })
    const ended = await runEditor(editor, file)
    if (ended !== undefined) {
      options.prompter.say([ended])
      return cancelled
    }
    return await readFile(file, 'utf8')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs the editor command line (`code --wait`); returns the error, if any. */
function runEditor(editor: string, file: string): Promise<string | undefined> {
  const [command = editor, ...args] = editor.trim().split(/\s+/)
  return new Promise((resolve) => {
    const child = spawn(command, [...args, file], { stdio: 'inherit' })
    child.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'ENOENT' ? 'there is no such program. Correct VISUAL or EDITOR' : error.message
      resolve(`The editor "${command}" did not start: ${reason}.`)
    })
    child.once('exit', (code) =>
      resolve(code === 0 ? undefined : `The editor ended with code ${code}; nothing was changed.`),
    )
  })
}

/** Lets the user edit a JSON value until it is valid and `problem` accepts it. */
export async function editJson<T>(
  value: T,
  options: {
    prompter: Prompter
    env: NodeJS.ProcessEnv
    read: (edited: unknown) => { value: T } | { problem: string }
  },
): Promise<T | Cancelled> {
  const onOneLine = !hasEditor(options.env)
  let text = onOneLine ? JSON.stringify(value) : `${JSON.stringify(value, null, 2)}\n`
  for (;;) {
    const edited = await editText(text, { ...options, suffix: '.json' })
    if (edited === cancelled) return cancelled
    const read = parseEdited(edited, options.read)
    if ('value' in read) return read.value
    options.prompter.say([`That cannot be used: ${read.problem}`])
    const again = await options.prompter.select({
      message: 'Edit again?',
      options: [
        { value: 'again', label: 'Edit again' },
        { value: 'leave', label: 'Leave it as it was' },
      ],
    })
    if (again !== 'again') return cancelled
    text = edited
  }
}

function parseEdited<T>(
  text: string,
  read: (edited: unknown) => { value: T } | { problem: string },
): { value: T } | { problem: string } {
  try {
    return read(readJson(text))
  } catch (error) {
    return { problem: `it is not valid JSON (${error instanceof Error ? error.message : error}).` }
  }
}

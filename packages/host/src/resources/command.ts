import { unseenIn } from '../shared/visible.ts'
import type { CatalogPrompt } from '../types/index.ts'

/** Names whose end is plain to see in `server.prompt`, and that need no quotes. */
const plainServer = /^[^\s.\\/"'`]+$/u
const plainPrompt = /^[^\s\\"'`]+$/u
const maxLength = 100

/** What a person writes after a slash for a prompt. Names in the host hold no dot, so that the two kinds cannot meet. */
export function commandOf({ name, server, prompt }: CatalogPrompt): string {
  const command = `${server}.${prompt.name}`
  const readable =
    plainServer.test(server) &&
    plainPrompt.test(prompt.name) &&
    command.length <= maxLength &&
    unseenIn(command).length === 0
  return readable ? command : name
}

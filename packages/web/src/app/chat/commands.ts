import { useLocation } from 'wouter'
import { useHost } from '../data/host.tsx'
import { routes } from '../routes.ts'
import { useDock } from '../shell/dock-state.ts'
import type { ConversationDialogKind } from './conversation-dialog.tsx'

/** A command of the composer, written after a slash. */
export interface ChatCommand {
  readonly name:
    | 'new'
    | 'model'
    | 'attach'
    | 'tools'
    | 'context'
    | 'folders'
    | 'compact'
    | 'rename'
    | 'fork'
    | 'stop'
    | 'inbox'
    | 'log'
    | 'delete'
  /** The id of its description. */
  readonly text: string
}

/** Every command, in the order in which they are offered. */
export const commands: readonly ChatCommand[] = [
  { name: 'new', text: 'command.new' },
  { name: 'model', text: 'command.model' },
  { name: 'attach', text: 'command.attach' },
  { name: 'tools', text: 'command.tools' },
  { name: 'context', text: 'command.context' },
  { name: 'folders', text: 'command.folders' },
  { name: 'compact', text: 'command.compact' },
  { name: 'rename', text: 'command.rename' },
  { name: 'fork', text: 'command.fork' },
  { name: 'stop', text: 'command.stop' },
  { name: 'inbox', text: 'command.inbox' },
  { name: 'log', text: 'command.log' },
  { name: 'delete', text: 'command.delete' },
]

/** Parses a command with its arguments; undefined if the text is a message. */
export function commandIn(text: string): { command: ChatCommand; rest: string } | undefined {
  const [, name, rest = ''] = /^\/(\w+)(?:\s+(.*))?$/.exec(text.trim()) ?? []
  const command = commands.find((candidate) => candidate.name === name)
  return command === undefined ? undefined : { command, rest: rest.trim() }
}

/** Runs commands of the composer. `onDialog`: called for commands that need a dialog. */
export function useCommands(
  id: string,
  onDialog: (dialog: ConversationDialogKind) => void,
  onFailed: (reason: unknown) => void,
): (command: ChatCommand, rest: string) => void {
  const { client } = useHost()
  const [, navigate] = useLocation()
  const dock = useDock()
  return ({ name }, rest) => {
    switch (name) {
      case 'new':
        client.call('conversations.open', {}).then((created) => navigate(routes.chat.to(created)), onFailed)
        return
      case 'fork':
        client.call('conversations.fork', { id }).then((fork) => navigate(routes.chat.to(fork)), onFailed)
        return
      case 'model':
        client.call('conversations.setModel', { id, model: rest }).catch(onFailed)
        return
      case 'stop':
        client.call('conversations.stop', { id }).catch(onFailed)
        return
      case 'rename':
        if (rest === '') onDialog('rename')
        else client.call('conversations.setTitle', { id, title: rest }).catch(onFailed)
        return
      case 'compact':
      case 'delete':
        onDialog(name)
        return
      case 'inbox':
      case 'log':
      case 'context':
        dock.show(name)
        return
      case 'attach':
      case 'tools':
      case 'folders':
        dock.show('context', name)
    }
  }
}

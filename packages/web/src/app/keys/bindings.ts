import { routes } from '../routes.ts'

/** A key with its effect. `name`: the id of its description. */
export interface KeyBinding {
  /** `Mod` is Ctrl, or ⌘ on a Mac. */
  readonly keys: string
  readonly name: string
  readonly where: 'anywhere' | 'composer' | 'card' | 'inbox'
  /** An address to open. */
  readonly to?: string
  /** A key of `actions` of `useKeys`; on a card, the `data-act` of the buttons to click, separated by spaces. */
  readonly act?: string
}

/** The screens with the links to them; `key`: the second key of the chord that opens one. */
export const screens = [
  { key: 'c', name: 'nav.chat', to: routes.chats.to() },
  { key: 'i', name: 'nav.inbox', to: routes.inbox.to() },
  { key: 's', name: 'nav.servers', to: routes.servers.to() },
  { key: 'n', name: 'nav.inspect', to: routes.inspect.to() },
  { key: 't', name: 'nav.tasks', to: routes.tasks.to() },
  { key: 'l', name: 'nav.library', to: routes.library.to() },
  { key: 'p', name: 'nav.permissions', to: routes.permissions.to() },
  { key: 'a', name: 'nav.activity', to: routes.activities.to() },
  { name: 'nav.settings', to: routes.settings.to() },
] as const

export const keyBindings: readonly KeyBinding[] = [
  { keys: 'Mod+K', name: 'key.palette', where: 'anywhere', act: 'palette' },
  { keys: '?', name: 'key.sheet', where: 'anywhere', act: 'keys' },
  { keys: '.', name: 'key.dock', where: 'anywhere', act: 'dock' },
  { keys: 'Mod+.', name: 'key.stop', where: 'anywhere', act: 'stop' },
  { keys: 'i', name: 'key.oldest', where: 'anywhere', act: 'oldest' },
  ...screens.flatMap((screen): KeyBinding[] =>
    'key' in screen ? [{ keys: `g ${screen.key}`, name: screen.name, where: 'anywhere', to: screen.to }] : [],
  ),
  // The composer has its own keys, which are listed with the others.
  { keys: 'Enter', name: 'key.send', where: 'composer' },
  { keys: 'Shift+Enter', name: 'key.line', where: 'composer' },
  { keys: '/  @  #', name: 'key.suggest', where: 'composer' },
  { keys: '↑', name: 'key.editLast', where: 'composer' },
  { keys: 'Mod+Enter', name: 'key.primary', where: 'card', act: 'allow accept done review' },
  { keys: 'a', name: 'key.allowFor', where: 'card', act: 'remember' },
  { keys: 'e', name: 'key.edit', where: 'card', act: 'edit' },
  { keys: 'd', name: 'key.deny', where: 'card', act: 'deny' },
  { keys: 'd d', name: 'key.denyTwice', where: 'card', act: 'deny-once' },
  { keys: 'r', name: 'key.respond', where: 'card', act: 'respond' },
  { keys: 'l', name: 'key.later', where: 'card', act: 'later' },
  { keys: 'J', name: 'key.next', where: 'inbox', act: 'next' },
  { keys: 'K', name: 'key.previous', where: 'inbox', act: 'previous' },
]

/** Whether a key event belongs to text input. */
export function isTyping(event: KeyboardEvent): boolean {
  if (event.isComposing) return true
  const { target } = event
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable ||
    /^(?:TEXTAREA|SELECT)$/.test(target.tagName) ||
    (target instanceof HTMLInputElement && !/^(?:checkbox|radio|button)$/.test(target.type))
  )
}

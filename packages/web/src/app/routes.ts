import { useLocation, useSearch } from 'wouter'

const part = encodeURIComponent

/** Parts of the inspector of a server. */
export const inspectKinds = ['tools', 'prompts', 'resources', 'templates', 'tasks', 'server'] as const
export type InspectKind = (typeof inspectKinds)[number]

export const activityViews = ['list', 'tree', 'time', 'raw', 'stats'] as const
export type ActivityView = (typeof activityViews)[number]

/** The query of the activity log. `from` and `to` are milliseconds since 1970, `event` is the event with its details. */
export interface ActivityAddress {
  readonly view?: ActivityView
  readonly filter?: string
  readonly from?: number
  readonly to?: number
  readonly event?: number
}

/** Parts of the settings, in their order. */
export const settingsSections = [
  'models',
  'servers',
  'registry',
  'secrets',
  'config',
  'folders',
  'surfaces',
  'look',
] as const
export type SettingsSection = (typeof settingsSections)[number]

/** Every address of the page. Opening one never has an effect. */
export const routes = {
  inbox: { path: '/inbox', to: () => '/inbox' },
  question: { path: '/inbox/:question', to: (question: string) => `/inbox/${part(question)}` },
  chats: { path: '/chat', to: () => '/chat' },
  chat: {
    path: '/chat/:conversation',
    /** `prompt`: shows the form of a prompt by its command; nothing is sent. */
    to: (conversation: string, prompt?: string) =>
      `/chat/${part(conversation)}${prompt === undefined ? '' : `?prompt=${part(prompt)}`}`,
  },
  servers: { path: '/servers', to: () => '/servers' },
  server: { path: '/servers/:server', to: (server: string) => `/servers/${part(server)}` },
  inspect: { path: '/inspect', to: () => '/inspect' },
  inspectServer: { path: '/inspect/:server', to: (server: string) => `/inspect/${part(server)}` },
  inspectKind: {
    path: '/inspect/:server/:kind',
    to: (server: string, kind: InspectKind) => `/inspect/${part(server)}/${kind}`,
  },
  inspectItem: {
    path: '/inspect/:server/:kind/:item',
    /** `args`: fills the form of a prompt or a template; nothing runs. */
    to: (server: string, kind: InspectKind, item: string, args?: Readonly<Record<string, unknown>>) =>
      `/inspect/${part(server)}/${kind}/${part(item)}${args === undefined ? '' : `?args=${part(JSON.stringify(args))}`}`,
  },
  tool: {
    path: '/inspect/:server/tools/:tool',
    /** `args`: fills the form; nothing runs. */
    to: (server: string, tool: string, args?: Readonly<Record<string, unknown>>) =>
      `/inspect/${part(server)}/tools/${part(tool)}${args === undefined ? '' : `?args=${part(JSON.stringify(args))}`}`,
  },
  activities: {
    path: '/activity',
    to: ({ view, filter, from, to, event }: ActivityAddress = {}) => {
      const query = [
        ...(view === undefined || view === 'list' ? [] : [`view=${view}`]),
        ...(filter === undefined || filter === '' ? [] : [`filter=${part(filter)}`]),
        ...(from === undefined || to === undefined ? [] : [`from=${from}`, `to=${to}`]),
        ...(event === undefined ? [] : [`event=${event}`]),
      ]
      return query.length === 0 ? '/activity' : `/activity?${query.join('&')}`
    },
  },
  activity: { path: '/activity/:activity', to: (activity: number) => `/activity/${activity}` },
  tasks: { path: '/tasks', to: () => '/tasks' },
  task: { path: '/tasks/:task', to: (task: string) => `/tasks/${part(task)}` },
  library: { path: '/library', to: () => '/library' },
  prompt: {
    path: '/library',
    /** `prompt`: by its command. Without one, the list of prompts. */
    to: (prompt?: string) => `/library?in=prompts${prompt === undefined ? '' : `&prompt=${part(prompt)}`}`,
  },
  resource: {
    path: '/library/:server/:uri',
    to: (server: string, uri: string) => `/library/${part(server)}/${part(uri)}`,
  },
  permissions: { path: '/permissions', to: () => '/permissions' },
  permission: {
    path: '/permissions/:view',
    to: (view: 'rules' | 'given' | 'explain' | 'try') => `/permissions/${view}`,
  },
  permissionTry: {
    path: '/permissions/try',
    /** `rule`: fills the form; nothing is saved. */
    to: (rule: Readonly<Record<string, unknown>>) => `/permissions/try?rule=${part(JSON.stringify(rule))}`,
  },
  settings: { path: '/settings', to: () => '/settings' },
  setting: {
    path: '/settings/:section',
    to: (section: SettingsSection) => `/settings/${section}`,
  },
  serverSetting: {
    path: '/settings/servers',
    /** Opens where the values of the server are written; nothing is changed. */
    to: (server: string) => `/settings/servers?server=${part(server)}`,
  },
  secret: {
    path: '/settings/secrets',
    /** `name`: opens the field of its value; nothing is stored. */
    to: (name: string) => `/settings/secrets?name=${part(name)}`,
  },
  registryServer: {
    path: '/settings/registry/:name',
    to: (name: string) => `/settings/registry/${part(name)}`,
  },
} as const

/** The current address, decoded once. wouter decodes parts before it returns them. */
export function useAddress(): { readonly parts: readonly string[]; readonly query: URLSearchParams } {
  // Both only cause a render when the address changes.
  useLocation()
  useSearch()
  const { pathname, search } = window.location
  return { parts: pathname.split('/').slice(1).map(decoded), query: new URLSearchParams(search) }
}

/** The id of the conversation on the screen; undefined on other screens. */
export function useShownConversation(): string | undefined {
  const [screen, id] = useAddress().parts
  return screen === 'chat' && id !== '' ? id : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

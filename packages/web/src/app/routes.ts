const part = encodeURIComponent

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
  chat: { path: '/chat/:conversation', to: (conversation: string) => `/chat/${part(conversation)}` },
  servers: { path: '/servers', to: () => '/servers' },
  server: { path: '/servers/:server', to: (server: string) => `/servers/${part(server)}` },
  inspect: { path: '/inspect', to: () => '/inspect' },
  inspectServer: { path: '/inspect/:server', to: (server: string) => `/inspect/${part(server)}` },
  tool: {
    path: '/inspect/:server/tools/:tool',
    /** `args`: fills the form; nothing runs. */
    to: (server: string, tool: string, args?: Readonly<Record<string, unknown>>) =>
      `/inspect/${part(server)}/tools/${part(tool)}${args === undefined ? '' : `?args=${part(JSON.stringify(args))}`}`,
  },
  activities: { path: '/activity', to: () => '/activity' },
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
  registryServer: {
    path: '/settings/registry/:name',
    to: (name: string) => `/settings/registry/${part(name)}`,
  },
} as const

/**
 * The parts of the address as they were before they were encoded. The router decodes an address as a whole, after which an
 * encoded slash cannot be told from one that was encoded twice.
 */
export function addressParts(): string[] {
  return location.pathname.split('/').slice(1).map(decoded)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

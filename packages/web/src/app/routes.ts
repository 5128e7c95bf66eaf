/** Every address of the page. Opening one never has an effect. */
const part = encodeURIComponent

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
  tool: {
    path: '/inspect/:server/tools/:tool',
    /** `args`: fills the form; nothing runs. */
    to: (server: string, tool: string, args?: Readonly<Record<string, unknown>>) =>
      `/inspect/${part(server)}/tools/${part(tool)}${args === undefined ? '' : `?args=${part(JSON.stringify(args))}`}`,
  },
  activities: { path: '/activity', to: () => '/activity' },
  activity: { path: '/activity/:activity', to: (activity: number) => `/activity/${activity}` },
  library: { path: '/library', to: () => '/library' },
  permissions: { path: '/permissions', to: () => '/permissions' },
  settings: { path: '/settings', to: () => '/settings' },
} as const

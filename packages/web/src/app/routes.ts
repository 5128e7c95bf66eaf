/** Every address of the page. Opening one never has an effect. */
const part = encodeURIComponent

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
  permissions: { path: '/permissions', to: () => '/permissions' },
  settings: { path: '/settings', to: () => '/settings' },
} as const

import { lazy, type ReactNode, Suspense } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { useText } from './i18n/i18n.ts'
import InboxScreen from './inbox/inbox.tsx'
import { routes, useAddress } from './routes.ts'
import { Shell } from './shell/shell.tsx'
import { Part } from './text/part.tsx'
import { Empty } from './ui/ui.tsx'

const screens = {
  servers: () => import('./servers/servers.tsx'),
  activity: () => import('./activity/activity.tsx'),
  chat: () => import('./chat/chat.tsx'),
  inspect: () => import('./inspect/inspect.tsx'),
  library: () => import('./library/library.tsx'),
  permissions: () => import('./permissions/permissions.tsx'),
  tasks: () => import('./tasks/tasks.tsx'),
  settings: () => import('./settings/settings.tsx'),
}
const Servers = lazy(screens.servers)
const Activities = lazy(screens.activity)
const Chat = lazy(screens.chat)
const Inspect = lazy(screens.inspect)
const Library = lazy(screens.library)
const Permissions = lazy(screens.permissions)
const Tasks = lazy(screens.tasks)
const SettingsScreen = lazy(screens.settings)

/** Loads the screens that are not shown yet one after another, so that a click on one shows it at once. */
export async function loadScreens(): Promise<void> {
  // One that cannot be loaded says so when it is shown.
  for (const load of Object.values(screens)) await load().catch(() => undefined)
}

/** The screen of the address. */
export function App(): ReactNode {
  const { parts } = useAddress()
  return (
    <Shell>
      <Part name={parts[0] ?? ''}>
        <Suspense>
          <Switch>
            <Route path="/">
              <Redirect to={routes.inbox.to()} replace />
            </Route>
            <Route path={routes.inbox.path}>
              <InboxScreen />
            </Route>
            <Route path={routes.question.path}>{({ question }) => <InboxScreen question={question} />}</Route>
            <Route path={routes.servers.path}>
              <Servers />
            </Route>
            <Route path={routes.server.path}>{({ server }) => <Servers server={server} />}</Route>
            <Route path={routes.activities.path}>
              <Activities />
            </Route>
            <Route path={routes.activity.path}>
              {({ activity }) => <Activities activity={Number(activity)} />}
            </Route>
            <Route path={routes.chats.path}>
              <Chat />
            </Route>
            <Route path={routes.chat.path}>
              {({ conversation }) => <Chat conversation={conversation} />}
            </Route>
            <Route path={/^\/inspect(?:\/|$)/}>
              <Inspect />
            </Route>
            <Route path={routes.tasks.path}>
              <Tasks />
            </Route>
            <Route path={routes.task.path}>{({ task }) => <Tasks task={task} />}</Route>
            <Route path={routes.library.path}>
              <Library />
            </Route>
            <Route path={routes.resource.path}>
              <Library server={parts[1] ?? ''} uri={parts[2] ?? ''} />
            </Route>
            <Route path={routes.permissions.path}>
              <Permissions />
            </Route>
            <Route path={routes.permission.path}>{({ view }) => <Permissions view={view} />}</Route>
            <Route path={routes.settings.path}>
              <Redirect to={routes.setting.to('models')} replace />
            </Route>
            <Route path={routes.setting.path}>{({ section }) => <SettingsScreen section={section} />}</Route>
            <Route path={routes.registryServer.path}>
              <SettingsScreen section="registry" name={parts[2] ?? ''} />
            </Route>
            <Route>
              <Unknown />
            </Route>
          </Switch>
        </Suspense>
      </Part>
    </Shell>
  )
}

function Unknown(): ReactNode {
  const t = useText()
  return <Empty title={t('nav.unknown')} />
}

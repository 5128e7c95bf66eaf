import type { ReactNode } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { useText } from './i18n/i18n.ts'
import InboxScreen from './inbox/inbox.tsx'
import { routes, useAddress } from './routes.ts'
import { Shell } from './shell/shell.tsx'
import { Part } from './text/part.tsx'
import { loaded } from './ui/loaded.tsx'
import { Empty } from './ui/ui.tsx'

const Servers = loaded(() => import('./servers/servers.tsx'))
const Activities = loaded(() => import('./activity/activity.tsx'))
const Chat = loaded(() => import('./chat/chat.tsx'))
const Inspect = loaded(() => import('./inspect/inspect.tsx'))
const Library = loaded(() => import('./library/library.tsx'))
const Permissions = loaded(() => import('./permissions/permissions.tsx'))
const Tasks = loaded(() => import('./tasks/tasks.tsx'))
const SettingsScreen = loaded(() => import('./settings/settings.tsx'))

/** The screen of the address. */
export function App(): ReactNode {
  const { parts } = useAddress()
  return (
    <Shell>
      <Part name={parts[0] ?? ''}>
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
          <Route path={routes.chat.path}>{({ conversation }) => <Chat conversation={conversation} />}</Route>
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
      </Part>
    </Shell>
  )
}

function Unknown(): ReactNode {
  const t = useText()
  return (
    <Empty title={t('nav.unknown')}>
      <p>{t('nav.unknownMeans')}</p>
    </Empty>
  )
}

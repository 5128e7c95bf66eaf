import type { Fix } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useAction, useNow, useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { type FromHost, plain, plainText } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { StateLamp } from '../ui/state-lamp.tsx'
import { Button, Empty, Search, uiStyle, Views } from '../ui/ui.tsx'
import { ServerDetail } from './detail.tsx'
import style from './servers.module.css'
import { offersOf, remedies, type ServerRow, useRemedy, wrongStates } from './state.tsx'

type View = 'all' | 'wrong' | 'asleep'

const belongs: { readonly [V in View]: (row: ServerRow) => boolean } = {
  all: () => true,
  wrong: ({ connection, quarantined }) => wrongStates.has(connection.state) || quarantined > 0,
  asleep: ({ connection: { state } }) => state === 'asleep' || state === 'disabled',
}

/** The list of servers, each with its state, the reason and one remedy. */
export default function Servers({ server }: { server?: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const rows = useTopic('servers')
  const [view, setView] = useState<View>('all')
  const [filter, setFilter] = useState('')
  if (rows === undefined) return <Loading />
  if (rows.size === 0) return <NoServers />
  const here = server === undefined ? undefined : rows.get(server)
  const all = [...rows]
  const word = filter.trim().toLowerCase()
  const shown = all.filter(
    ([name, row]) => belongs[view](row) && `${name} ${plainText(row.origin)}`.toLowerCase().includes(word),
  )
  const count = (of: View): number => all.filter(([, row]) => belongs[of](row)).length
  return (
    <div className={screen.split} data-open={server !== undefined}>
      <section className={screen.pane} aria-label={t('nav.servers')}>
        <div className={style.bar}>
          {rows.size > 6 && (
            <Search
              label={t('servers.filter')}
              value={filter}
              count={word === '' ? undefined : number(shown.length)}
              onChange={setFilter}
            />
          )}
          <Views
            label={t('servers.views')}
            views={(['all', 'wrong', 'asleep'] as const).map((name) => [
              name,
              t(`servers.view.${name}`, { count: count(name) }),
            ])}
            value={view}
            onChange={setView}
          />
          <Link className={`${uiStyle.button} ${uiStyle.small}`} href={routes.setting.to('registry')}>
            {t('servers.add')}
          </Link>
        </div>
        {shown.length === 0 && <p className={style.none}>{t('servers.noneFits')}</p>}
        <ul className={`${screen.rows} ${style.list}`}>
          {shown.map(([name, row]) => (
            <Row key={name} name={name} row={row} isCurrent={name === server} />
          ))}
        </ul>
      </section>
      <section className={screen.pane} aria-label={t('servers.detail')}>
        {server !== undefined && here !== undefined ? (
          <ServerDetail key={server} name={server} row={here} />
        ) : (
          <p className={screen.nothing}>{t(server === undefined ? 'servers.choose' : 'servers.unknown')}</p>
        )}
      </section>
    </div>
  )
}

/** The name of a missing secret; without it, restarting the server has no effect. */
function secretIn(fixes: FromHost<readonly Fix[]>): string | undefined {
  return plain<readonly Fix[]>(fixes).find((fix) => fix.action === 'set-secret')?.name
}

/** Shown without servers: add one, or import those of other applications. */
function NoServers(): ReactNode {
  const t = useText()
  const discovered = useRead('config.found', {}).data ?? []
  return (
    <Empty title={t('servers.empty')}>
      <p>{t('servers.emptyMeans')}</p>
      <p className={screen.bar}>
        <Link className={`${uiStyle.button} ${uiStyle.primary}`} href={routes.setting.to('registry')}>
          {t('servers.add')}
        </Link>
        {discovered.length > 0 && (
          <Link className={uiStyle.button ?? ''} href={`${routes.setting.to('registry')}?way=import`}>
            {t('servers.import', { count: discovered.length })}
          </Link>
        )}
      </p>
    </Empty>
  )
}

/** Placeholder rows until the servers are loaded. */
function Loading(): ReactNode {
  return (
    <div className={screen.pane} aria-busy="true">
      {[1, 2, 3].map((n) => (
        <div key={n} className={style.waiting} />
      ))}
    </div>
  )
}

function Row({ name, row, isCurrent }: { name: string; row: ServerRow; isCurrent: boolean }): ReactNode {
  const t = useText()
  const { age } = useFormat()
  const now = useNow(10_000)
  const { connection, quarantined } = row
  const remedyAction = useAction(useRemedy(name))
  const remedy = remedies[connection.state]
  const secret = 'fixes' in connection ? secretIn(connection.fixes) : undefined
  const reason = 'reason' in connection ? connection.reason : undefined
  const isQuiet = connection.state === 'ready' || connection.state === 'connecting'
  return (
    <li className={style.row} aria-current={isCurrent || undefined}>
      <ServerBadge name={name} />
      <Link href={routes.server.to(name)} className={style.name ?? ''}>
        <bdi>{name}</bdi>
      </Link>
      <span className={style.state}>
        <StateLamp state={connection.state} />
      </span>
      <span className={style.offers}>
        {offersOf(t, row)}
        {quarantined > 0 && (
          <>
            {offersOf(t, row) !== '' && ' · '}
            <strong>{t('servers.quarantined', { count: quarantined })}</strong>
          </>
        )}
      </span>
      <span className={style.since}>{age(now - connection.sinceMs)}</span>
      <span className={style.remedy}>
        {secret !== undefined && (
          <Link className={`${uiStyle.button} ${uiStyle.small}`} href={routes.secret.to(secret)}>
            {t('remedy.secret')}
          </Link>
        )}
        {secret === undefined && remedy !== undefined && (
          <Button small isOff={remedyAction.isRunning} onClick={() => remedyAction.run(remedy)}>
            {t(`remedy.${remedy}`)}
          </Button>
        )}
      </span>
      {!isQuiet && reason !== undefined && (
        <span className={style.reason}>
          <HostText text={reason} maxCharacters={240} inline />
        </span>
      )}
      {remedyAction.error !== undefined && (
        <span className={style.reason}>
          <ErrorNote error={remedyAction.error} />
        </span>
      )}
    </li>
  )
}

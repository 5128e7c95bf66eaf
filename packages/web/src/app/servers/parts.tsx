import type { ReactNode } from 'react'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Findings } from '../text/findings.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { folderOf } from '../text/pieces.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, uiStyle } from '../ui/ui.tsx'
import style from './servers.module.css'

/** The definitions of a server, compared with the accepted ones. */
export function TrustPart({ server }: { server: string }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const { data: trust, refetch } = useRead('trust.get', { server })
  const action = useAction(async (verdict: 'accept' | 'block', index: number) => {
    const item = trust?.items[index]
    if (item === undefined) return
    const items = [{ what: item.what, name: plainText(item.name) }]
    await client.call(`trust.${verdict}`, { server, items })
    refetch()
  })
  if (trust === undefined) return null
  const listed = trust.items.filter((item) => item.listed)
  const pinned = listed.filter(({ state }) => state === 'pinned')
  // A server that never answered has no definitions.
  if (trust.items.length === 0 && trust.findings.length === 0) return null
  const changedItems = trust.items.flatMap((item, index) =>
    item.state === 'pinned' ? [] : [{ item, at: index }],
  )
  return (
    <section className={style.part} aria-label={t('servers.trust')}>
      <h3>
        {t('servers.trust')}{' '}
        <small>{t('servers.pinned', { pinned: pinned.length, all: listed.length })}</small>
      </h3>
      <Findings findings={trust.findings} />
      <ul className={style.items}>
        {changedItems.map(({ item, at: index }) => (
          <li key={`${item.what} ${plainText(item.name)}`}>
            <span className={style.grow}>
              {t(`drift.what.${item.what}`)} <SafeText text={item.name} maxCharacters={80} inline />
            </span>
            <span className={uiStyle.warn}>{t(`trust.${item.state}`)}</span>
            <span className={style.acts}>
              <Button small isOff={action.isRunning} onClick={() => action.run('accept', index)}>
                {t('trust.accept')}
              </Button>
              {item.state !== 'blocked' && (
                <Button small isOff={action.isRunning} onClick={() => action.run('block', index)}>
                  {t('drift.block')}
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {action.error !== undefined && <ErrorNote error={action.error} />}
    </section>
  )
}

/** The folders that a server sees, that need consent, or that are denied. */
export function FoldersPart({ server }: { server: string }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const { data, refetch } = useRead('roots.servers', {})
  const roots = data?.find((entry) => entry.server === server)
  const action = useAction(async (method: 'roots.allow' | 'roots.deny' | 'roots.forget') => {
    await client.call(method, { server })
    refetch()
  })
  if (roots === undefined) return null
  const shown = roots.state === 'ask' ? roots.asks : roots.roots
  return (
    <section className={style.part} aria-label={t('context.folders')}>
      <h3>
        {t('context.folders')} <small>{t(`roots.state.${roots.state}`)}</small>
      </h3>
      <ul className={style.items}>
        {shown.map(({ uri, name }) => (
          <li key={plainText(uri)}>
            <span className={style.grow}>
              {name !== undefined && (
                <>
                  <SafeText text={name} inline />{' '}
                </>
              )}
              <span className={style.where}>
                <SafeText text={untrusted(folderOf(plainText(uri)))} maxCharacters={200} inline />
              </span>
            </span>
          </li>
        ))}
      </ul>
      {roots.state !== 'off' && (
        <div className={style.acts}>
          {roots.state !== 'allowed' && (
            <Button small isOff={action.isRunning} onClick={() => action.run('roots.allow')}>
              {t('roots.allowAll')}
            </Button>
          )}
          {roots.state !== 'denied' && (
            <Button small isOff={action.isRunning} onClick={() => action.run('roots.deny')}>
              {t('roots.deny')}
            </Button>
          )}
          {roots.state !== 'ask' && (
            <Button small look="quiet" isOff={action.isRunning} onClick={() => action.run('roots.forget')}>
              {t('roots.ask')}
            </Button>
          )}
        </div>
      )}
      {action.error !== undefined && <ErrorNote error={action.error} />}
    </section>
  )
}

/** The sampling limits of a server, its usage, and which reviews are skipped. */
export function SamplingPart({ server }: { server: string }): ReactNode {
  const t = useText()
  const { number, compact } = useFormat()
  const { client } = useHost()
  const usage = useRead('sampling.usage', {}).data?.find((entry) => entry.server === server)
  const grants = useRead('sampling.grants', {})
  const serverGrants = grants.data?.filter((grant) => grant.server === server) ?? []
  if (usage === undefined && serverGrants.length === 0) return null
  const bars =
    usage === undefined
      ? []
      : [
          { name: 'requests', used: usage.requests, limit: usage.limits.requestsPerMinute },
          { name: 'tokens', used: usage.tokens, limit: usage.limits.tokensPerDay },
          { name: 'auto', used: usage.autoTokens, limit: usage.limits.autoTokensPerDay },
        ]
  return (
    <section className={style.part} aria-label={t('servers.sampling')}>
      <h3>{t('servers.sampling')}</h3>
      <dl className={style.budget}>
        {bars.map(({ name, used, limit }) => (
          <div key={name} className={style.budgetRow}>
            <dt>{t(`servers.budget.${name}`)}</dt>
            <dd>
              <meter
                min={0}
                max={limit}
                high={limit * 0.8}
                value={used}
                aria-label={t(`servers.budget.${name}`)}
              />
            </dd>
            <dd>
              {number(used)} / {compact(limit)}
            </dd>
          </div>
        ))}
      </dl>
      <ul className={style.items}>
        {serverGrants.map(({ id, stage, scope }) => (
          <li key={`${stage} ${scope}`}>
            <span className={style.grow}>{t(`servers.passes.${stage}`)}</span>
            {id !== undefined && (
              <Button small onClick={() => void client.call('sampling.revoke', { id }).then(grants.refetch)}>
                {t('servers.takeBack')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

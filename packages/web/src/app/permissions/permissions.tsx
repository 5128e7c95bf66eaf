import { type ReactNode, useCallback } from 'react'
import { useAct, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Foreign } from '../text/foreign.tsx'
import { foreign } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Button, Note } from '../ui/ui.tsx'

/** Rules and remembered answers. */
export default function Permissions(): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { client } = useHost()
  const rules = useRead('policy.rules', {})
  const grants = useRead('policy.grants', {})
  const { refetch } = grants
  const revoke = useAct(
    useCallback(
      async (id: string) => {
        await client.call('policy.revoke', { id })
        refetch()
      },
      [client, refetch],
    ),
  )
  return (
    <div className={screen.screen}>
      <h2>{t('permissions.rules')}</h2>
      <p className={screen.muted}>
        {rules.data !== undefined &&
          t('permissions.default', { verdict: t(`rule.${rules.data.defaultVerdict}`) })}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className={screen.scroll} tabIndex={0} aria-label={t('permissions.rules')}>
        <table className={screen.table}>
          <thead>
            <tr>
              {['verdict', 'server', 'tool', 'conditions', 'author'].map((column) => (
                <th key={column} scope="col">
                  {t(`permissions.${column}`)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rules.data?.rules.map((rule) => (
              <tr key={rule.id}>
                <td>{t(`rule.${rule.verdict}`)}</td>
                <td>{rule.server ?? '*'}</td>
                <td>{rule.tool === undefined ? '*' : <Foreign text={rule.tool} inline />}</td>
                <td>
                  {rule.hint !== undefined && t(`hint.${rule.hint}`)}{' '}
                  {rule.arguments?.map((test) => (
                    <Foreign key={test.at} text={foreign(JSON.stringify(test))} most={200} />
                  ))}
                </td>
                <td>{rule.author !== undefined && <Foreign text={rule.author} most={160} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <h2>{t('permissions.grants')}</h2>
      {grants.data?.length === 0 && <p className={screen.muted}>{t('permissions.noGrants')}</p>}
      <ul className={screen.rows}>
        {grants.data?.map((grant) => (
          <li key={grant.id} className={screen.row}>
            <span className={screen.name}>{t(`rule.${grant.verdict}`)}</span>
            <span className={screen.grow}>
              {grant.server} · <Foreign text={grant.tool} inline />{' '}
              {grant.arguments !== undefined && (
                <Foreign text={foreign(JSON.stringify(grant.arguments))} most={160} inline />
              )}
            </span>
            <span className={screen.muted}>
              {t(`remember.${grant.scope}`)} · {dateTime(grant.at)}
            </span>
            <Button small isOff={revoke.isRunning} onClick={() => revoke.run(grant.id)}>
              {t('permissions.revoke')}
            </Button>
          </li>
        ))}
      </ul>
      {revoke.error !== undefined && (
        <Note tone="danger" live>
          <Foreign text={foreign(revoke.error.message)} />
        </Note>
      )}
    </div>
  )
}

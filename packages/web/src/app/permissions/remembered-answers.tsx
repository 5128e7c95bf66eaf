import { type ReactNode, useCallback } from 'react'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { rich, useFormat, useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button } from '../ui/ui.tsx'
import style from './permissions.module.css'
import { VerdictLamp } from './rule-text.tsx'

/** Remembered answers: grants for calls, and consents to pages of apps. */
export function RememberedAnswers(): ReactNode {
  return (
    <>
      <Grants />
      <AppConsents />
    </>
  )
}

function Grants(): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { client } = useHost()
  const grants = useRead('policy.grants', {})
  const { refetch } = grants
  const revoke = useAction(
    useCallback(
      async (id: string) => {
        await client.call('policy.revoke', { id })
        refetch()
      },
      [client, refetch],
    ),
  )
  return (
    <>
      <h3>{t('permissions.grants')}</h3>
      {grants.data?.length === 0 ? (
        <p className={screen.muted}>
          {t('permissions.noGrants')} {t('permissions.noGrantsMean')}
        </p>
      ) : (
        <p className={screen.muted}>{t('permissions.grantsMean')}</p>
      )}
      <ul className={screen.rows} aria-label={t('permissions.grants')}>
        {grants.data?.map((grant) => (
          <li key={grant.id} className={screen.row}>
            <VerdictLamp verdict={grant.verdict} />
            <span className={screen.grow}>
              <span className={style.what}>
                {grant.server} <SafeText text={grant.tool} inline />
              </span>{' '}
              {grant.readOnlyTools === true && (
                <span className={style.condition}>{t('remember.readOnly')}</span>
              )}
              {grant.arguments?.map((test) => (
                <span key={test.at} className={style.condition}>
                  <SafeText text={untrusted(JSON.stringify(test))} maxCharacters={160} inline />
                </span>
              ))}
            </span>
            <span className={screen.muted}>
              {t(`remember.${grant.scope}`)} · {dateTime(grant.at)}
            </span>
            <Button small isOff={revoke.isRunning} data-act="forget" onClick={() => revoke.run(grant.id)}>
              {t('permissions.revoke')}
            </Button>
          </li>
        ))}
      </ul>
      {revoke.error !== undefined && <ErrorNote error={revoke.error} />}
    </>
  )
}

/** Consents to pages of apps, which are shown or blocked without asking. */
function AppConsents(): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { client } = useHost()
  const consents = useRead('apps.consents', {}, { isFresh: true })
  const { refetch } = consents
  const forget = useAction(
    useCallback(
      async (identity: string, uri: string) => {
        await client.call('apps.forget', { identity, uri })
        refetch()
      },
      [client, refetch],
    ),
  )
  if (consents.data === undefined || consents.data.length === 0) return null
  return (
    <>
      <h3>{t('permissions.apps')}</h3>
      <p className={screen.muted}>{t('permissions.appsMean')}</p>
      <ul className={screen.rows} aria-label={t('permissions.apps')}>
        {consents.data.map((consent) => {
          const { server, identity, uri, verdict, granted, anyContents, at: grantedAt, csp } = consent
          const origins = [...new Set(Object.values(csp).flat())]
          return (
            <li key={`${plainText(identity)} ${plainText(uri)}`} className={screen.row}>
              <VerdictLamp verdict={verdict} />
              <span className={screen.grow}>
                <span className={style.what}>
                  {server} <SafeText text={uri} maxCharacters={120} inline />
                </span>{' '}
                <span className={style.condition}>
                  {origins.length === 0
                    ? t('permissions.appReachesNothing')
                    : rich(t, 'permissions.appReaches', {
                        origins: (
                          <SafeText
                            text={untrusted(origins.map(plainText).join(', '))}
                            maxCharacters={200}
                            inline
                          />
                        ),
                      })}
                </span>
                {granted.map((name) => (
                  <span key={name} className={style.condition}>
                    {t(`app.permission.${name}`)}
                  </span>
                ))}
                {anyContents && <span className={style.condition}>{t('permissions.appAnyContents')}</span>}
              </span>
              <span className={screen.muted}>{dateTime(grantedAt)}</span>
              <Button
                small
                isOff={forget.isRunning}
                data-act="forget-app"
                onClick={() => forget.run(plainText(identity), plainText(uri))}
              >
                {t('permissions.revoke')}
              </Button>
            </li>
          )
        })}
      </ul>
      {forget.error !== undefined && <ErrorNote error={forget.error} />}
    </>
  )
}

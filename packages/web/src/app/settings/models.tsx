import type { ModelTest } from '@jackfield/host/browser'
import { CircleCheck, CircleMinus, Star } from 'lucide-react'
import { type ReactNode, useCallback, useState } from 'react'
import { ChangeReview, useChange } from '../config/change.tsx'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { type FromHost, fromHost, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Lamp, Note } from '../ui/ui.tsx'
import style from './settings.module.css'

/** The models that can answer, the providers they come from, and who pays for requests of servers. */
export function Models(): ReactNode {
  const t = useText()
  const models = useRead('models.list', {}).data
  const info = useRead('models.providers', {}).data
  const isChangeable = useRead('config.view', {}).data !== undefined
  const change = useChange()
  const chosen = info?.chosen ?? null
  return (
    <>
      <p className={screen.muted}>{t('models.mean')}</p>
      {chosen !== null && (
        <Note tone="info">
          {t('models.chosen')} <SafeText text={untrusted(String(chosen))} inline />
        </Note>
      )}
      <ul className={screen.rows} aria-label={t('settings.models')}>
        {models?.map((model, n) => (
          <ModelRow
            key={model.id}
            model={model}
            isDefault={n === 0}
            {...(isChangeable &&
              n > 0 &&
              chosen === null && {
                onDefault: () => void change.plan({ kind: 'model', model: model.id }),
              })}
          />
        ))}
      </ul>
      <ChangeReview change={change} />
      <section className={screen.section}>
        <h3>{t('models.providers')}</h3>
        <p className={screen.muted}>{t('models.providersMean')}</p>
        <ul className={screen.rows}>
          {info?.providers.map(({ provider, keys, address, set, isReady }) => {
            const isSet = (name: unknown): boolean => set.some((fieldName) => fieldName === name)
            const shown = [...keys, address]
            return (
              <li key={plainText(provider)} className={style.provider}>
                <Lamp
                  tone={isReady ? 'ok' : 'off'}
                  icon={
                    isReady ? (
                      <CircleCheck size={16} strokeWidth={1.5} aria-hidden="true" />
                    ) : (
                      <CircleMinus size={16} strokeWidth={1.5} aria-hidden="true" />
                    )
                  }
                >
                  <SafeText text={provider} inline />
                </Lamp>
                <span className={screen.muted}>{t(isReady ? 'models.ready' : 'models.notReady')}</span>
                <span className={style.variables}>
                  {shown.map((name) => (
                    <code key={plainText(name)} data-set={isSet(name)}>
                      <SafeText text={name} inline />
                      {isSet(name) ? ' ✓' : ''}
                    </code>
                  ))}
                </span>
              </li>
            )
          })}
        </ul>
      </section>
      <Usage />
    </>
  )
}

type Model = { readonly id: string; readonly isLanguageModel: boolean; readonly contextTokens: number | null }

function ModelRow({
  model,
  isDefault,
  onDefault,
}: {
  model: Model
  isDefault: boolean
  onDefault?: () => void
}): ReactNode {
  const t = useText()
  const { number, duration } = useFormat()
  const { client } = useHost()
  const [answer, setAnswer] = useState<FromHost<ModelTest>>()
  const { id, isLanguageModel, contextTokens } = model
  const test = useAction(
    useCallback(async () => {
      setAnswer(undefined)
      setAnswer(fromHost(await client.call('models.test', { id })))
    }, [client, id]),
  )
  return (
    <li className={screen.row}>
      <span className={`${screen.grow} ${style.model}`}>
        <strong>{id}</strong>
        {isDefault && (
          <span className={style.tag}>
            <Star size={12} strokeWidth={2} aria-hidden="true" /> {t('models.default')}
          </span>
        )}
        <span className={screen.muted}>
          {!isLanguageModel && t('settings.offline')}
          {contextTokens !== null && t('chat.context', { tokens: number(contextTokens) })}
        </span>
      </span>
      <span className={style.acts}>
        {onDefault !== undefined && (
          <Button small data-act="default" onClick={onDefault}>
            {t('models.makeDefault')}
          </Button>
        )}
        <Button small isOff={test.isRunning} data-act="test" onClick={() => test.run()}>
          {t(test.isRunning ? 'models.testing' : 'models.test')}
        </Button>
      </span>
      {answer !== undefined && (
        <span className={style.whole} role="status">
          <Note tone="ok">
            {t('models.answered', { time: duration(answer.durationMs) })}{' '}
            <SafeText text={answer.text} maxCharacters={400} />
            {answer.usage !== undefined && (
              <span className={screen.muted}>
                {' '}
                {t('models.usage', {
                  input: number(answer.usage.inputTokens),
                  output: number(answer.usage.outputTokens),
                })}
              </span>
            )}
          </Note>
        </span>
      )}
      {test.error !== undefined && (
        <span className={style.whole}>
          <ErrorNote error={test.error} />
        </span>
      )}
    </li>
  )
}

/** What servers used of the person's model. */
function Usage(): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const usage = useRead('sampling.usage', {}).data
  return (
    <section className={screen.section}>
      <h3>{t('settings.sampling')}</h3>
      {usage?.length === 0 && <p className={screen.muted}>{t('settings.none')}</p>}
      <ul className={screen.rows}>
        {usage?.map(({ server, tokens, requests, limits }) => (
          <li key={server} className={screen.row}>
            <span className={screen.name}>{server}</span>
            <span className={screen.grow}>
              <meter
                className={style.meter}
                min={0}
                max={limits.tokensPerDay}
                value={tokens}
                aria-label={`${server}: ${t('settings.sampling')}`}
              />
            </span>
            <span className={screen.muted}>
              {t('settings.usage', {
                requests,
                most: limits.requestsPerMinute,
                tokens: number(tokens),
                day: number(limits.tokensPerDay),
              })}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

import type { ConfigPlan, ReviewedInstallation } from '@jackfield/host/browser'
import { type ReactNode, useCallback, useDeferredValue, useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { PlanFacts } from '../config/change.tsx'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Findings } from '../text/findings.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import style from './settings.module.css'

type Need = ReviewedInstallation['needs'][number]

/** The review of a server of the registry before it is installed: its command, its inputs, and the change of the file. */
export function Installation({ published }: { published: string }): ReactNode {
  const t = useText()
  const [name, setName] = useState<string>()
  const { data, error, isPending } = useRead('registry.review', {
    published,
    ...(name !== undefined && { name }),
  })
  return (
    <div className={screen.stack}>
      <Link href={routes.setting.to('registry')} className={style.backLink ?? ''}>
        ‹ {t('settings.registry')}
      </Link>
      {error !== null && <ErrorNote error={error} />}
      {isPending && <p className={screen.muted}>{t('registry.reading')}</p>}
      {data !== undefined && <Review key={data.id} review={data} onName={setName} />}
    </div>
  )
}

function Review({
  review,
  onName,
}: {
  review: FromHost<ReviewedInstallation>
  onName: (name: string) => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [, navigate] = useLocation()
  const needs = plain<readonly Need[]>(review.needs)
  const stored = new Set(review.stored.map(plainText))
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(
      needs.flatMap(({ id, secret, default: value }) =>
        secret === undefined && value !== undefined ? [[id, value]] : [],
      ),
    ),
  )
  // Values of secrets live only here, and go to the host with the installation alone.
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({})
  const [called, setCalled] = useState(plainText(review.name))
  const missing = needs.filter(({ id, secret, required }) =>
    !required
      ? false
      : secret === undefined
        ? (values[id] ?? '') === ''
        : (secrets[id] ?? '') === '' && !stored.has(secret),
  )
  const enteredValues = useMemo(() => valuesOf(review, values, secrets), [review, values, secrets])
  const later = useDeferredValue(JSON.stringify(enteredValues))
  const isWhole = needs.every(
    ({ id, secret, required }) => secret !== undefined || !required || (values[id] ?? '') !== '',
  )
  const preview = useRead(
    'installs.preview',
    { id: review.id, values: JSON.parse(later) },
    { enabled: isWhole && !review.isKnown },
  )
  const plan: FromHost<ConfigPlan> | undefined = isWhole ? preview.data : undefined
  const install = useAction(
    useCallback(async () => {
      const server = await client.call('installs.install', {
        id: review.id,
        values: enteredValues,
        secrets: Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== '')),
        hash: plan?.hash === null || plan === undefined ? null : plainText(plan.hash),
      })
      setSecrets({})
      navigate(routes.server.to(server))
    }, [client, review.id, enteredValues, secrets, plan, navigate]),
  )
  const isReady = missing.length === 0 && plan !== undefined && !review.isKnown && !install.isRunning
  return (
    <>
      <header className={style.reviewHead}>
        <h3>
          <SafeText text={review.published} inline />
        </h3>
        <p className={screen.muted}>
          {review.version !== undefined && <SafeText text={review.version} inline />}
          {review.publisher !== undefined && (
            <>
              {' · '}
              {t('registry.by')} <SafeText text={review.publisher} inline />
            </>
          )}
          {review.repository !== undefined && (
            <>
              {' · '}
              <SafeText text={review.repository} maxCharacters={120} inline />
            </>
          )}
        </p>
        <p>
          <SafeText text={review.description} maxCharacters={600} />
        </p>
      </header>
      {review.status === untrusted('deprecated') && <Note tone="warn">{t('registry.deprecated')}</Note>}
      <Findings findings={review.findings} />
      <section className={screen.section}>
        <h3>{t('registry.runs')}</h3>
        <ol className={style.argv} aria-label={t('registry.runs')}>
          {review.words.map((word, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: words of a command have no other identity
            <li key={n}>
              <SafeText text={word} />
            </li>
          ))}
        </ol>
        <dl className={screen.facts}>
          {review.digest !== undefined && (
            <>
              <dt>{t('registry.digest')}</dt>
              <dd className={style.code}>
                <SafeText text={untrusted(review.digest)} inline />
              </dd>
            </>
          )}
          {review.given.map(({ name, value }) => (
            <div key={plainText(name)} className={style.pair}>
              <dt>
                <SafeText text={name} inline />
              </dt>
              <dd className={style.code}>
                <SafeText text={value} maxCharacters={200} inline />
              </dd>
            </div>
          ))}
        </dl>
        <p className={screen.muted}>{t('registry.notStarted')}</p>
      </section>
      <section className={screen.section}>
        <h3>{t('registry.values')}</h3>
        <Field
          label={t('registry.name')}
          problem={review.isKnown ? t('registry.isKnown', { name: plainText(review.name) }) : undefined}
        >
          {(ids) => (
            <input
              {...ids}
              className={uiStyle.input}
              spellCheck={false}
              value={called}
              onChange={({ target }) => setCalled(target.value)}
              onBlur={() => {
                if (called.trim() !== '' && called.trim() !== plainText(review.name)) onName(called.trim())
              }}
            />
          )}
        </Field>
        {needs.map((need) => (
          <NeedField
            key={need.id}
            need={need}
            isStored={need.secret !== undefined && stored.has(need.secret)}
            value={(need.secret === undefined ? values : secrets)[need.id] ?? ''}
            onChange={(value) =>
              need.secret === undefined
                ? setValues({ ...values, [need.id]: value })
                : setSecrets({ ...secrets, [need.id]: value })
            }
          />
        ))}
      </section>
      {plan !== undefined && (
        <section className={screen.section}>
          <h3>{t('registry.written')}</h3>
          <PlanFacts plan={plan} />
        </section>
      )}
      {(preview.error ?? install.error) != null && (
        <Note tone="danger" live>
          <HostText text={untrusted((preview.error ?? install.error)?.message ?? '')} />
        </Note>
      )}
      <div className={screen.bar}>
        <Button look="primary" data-act="install" isOff={!isReady} onClick={() => void install.run()}>
          {t(install.isRunning ? 'registry.installing' : 'registry.install')}
        </Button>
        {missing.length > 0 && (
          <span className={screen.muted}>
            {t('registry.missing')}{' '}
            <SafeText text={untrusted(missing.map(({ id }) => id).join(', '))} inline />
          </span>
        )}
      </div>
    </>
  )
}

/** The entered values. A secret that was entered or is stored has an empty value; the file gets its name instead. */
function valuesOf(
  review: FromHost<ReviewedInstallation>,
  values: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const stored = new Set(review.stored.map(plainText))
  const isProvided = ({ id, secret }: Need): boolean =>
    secret !== undefined && ((secrets[id] ?? '') !== '' || stored.has(secret))
  return {
    ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')),
    ...Object.fromEntries(
      plain<readonly Need[]>(review.needs)
        .filter(isProvided)
        .map(({ id }) => [id, '']),
    ),
  }
}

function NeedField({
  need,
  isStored,
  value,
  onChange,
}: {
  need: Need
  isStored: boolean
  value: string
  onChange: (value: string) => void
}): ReactNode {
  const t = useText()
  const { id, description, secret, required, options, kind, multiple } = need
  const choices = kind === 'boolean' ? ['true', 'false'] : options
  return (
    <Field
      label={
        <>
          <SafeText text={untrusted(id)} inline />{' '}
          {!required && <span className={screen.muted}>{t('registry.optional')}</span>}
        </>
      }
      hint={
        <>
          {description !== undefined && (
            <div>
              <SafeText text={untrusted(description)} maxCharacters={300} />
            </div>
          )}
          {secret !== undefined && t(isStored ? 'registry.secretStored' : 'registry.secret')}
          {multiple === true && t('registry.perLine')}
        </>
      }
    >
      {(ids) =>
        choices !== undefined ? (
          <select
            {...ids}
            className={uiStyle.input}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          >
            <option value="" />
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : multiple === true ? (
          <textarea
            {...ids}
            className={uiStyle.input}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        ) : (
          <input
            {...ids}
            className={uiStyle.input}
            type={secret === undefined ? 'text' : 'password'}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        )
      }
    </Field>
  )
}

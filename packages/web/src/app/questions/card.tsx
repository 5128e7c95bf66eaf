import { type ReactNode, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useConnection, useHost, useNow, useRead } from '../data/host.tsx'
import { rich, useFormat, useHostSentence, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { plainText } from '../text/untrusted-text.ts'
import { Button, Note, ScrollBox } from '../ui/ui.tsx'
import type { Answering, Row } from './answer.ts'
import { ArmingProvider, useArming } from './armed.tsx'
import style from './questions.module.css'

interface CardProps {
  row: Row
  /** The id of the title, a message with the placeholders `server` and `tool`. */
  title: string
  /** The command line or address of the server. */
  origin?: ReactNode
  facts?: ReactNode
  children: ReactNode
  /** Buttons in reading order: deny, more, allow. */
  deny?: ReactNode
  more?: ReactNode
  allow: ReactNode
  panel?: ReactNode
  answering: Pick<Answering<never>, 'state' | 'error'>
  /** Changes with the answer that would be sent, so that the card has to be armed again. */
  version?: string
}

/** The frame of every question: texts of the host in the header, of the server in the body, buttons in the footer. */
export function Card(props: CardProps): ReactNode {
  const { row, title, origin, facts, children, deny, more, allow, panel, answering, version = '' } = props
  const t = useText()
  const { age } = useFormat()
  const now = useNow()
  const { client } = useHost()
  const connection = useConnection()
  const frame = useRef<HTMLElement>(null)
  const isConnected = connection.state === 'connected'
  const canDecide = row.state === 'open' && isConnected && answering.state !== 'sending'
  const arming = useArming(frame, `${row.digest} ${version} ${canDecide}`)
  const [deferFailed, setDeferFailed] = useState(false)
  const { server, tool, caller, conversation } = row.question.cause
  const defer = async (): Promise<void> => {
    const deferred = await client.call('inbox.defer', { id: row.id }).catch(() => false)
    setDeferFailed(!deferred)
  }
  return (
    <ArmingProvider value={{ ...arming, isArmed: arming.isArmed && canDecide }}>
      <article
        className={style.card}
        ref={frame}
        tabIndex={-1}
        data-card={row.id}
        aria-labelledby={`title-${row.id}`}
      >
        <header className={style.head}>
          <div className={style.title}>
            <ServerBadge name={server} />
            <h2 id={`title-${row.id}`}>
              {rich(t, title, {
                server: <bdi>{server}</bdi>,
                tool: tool === undefined ? '' : <SafeText text={tool} inline />,
              })}
            </h2>
            <span className={style.age}>{age(now - Date.parse(row.at))}</span>
          </div>
          <div className={style.facts}>
            {origin !== undefined && <span>{origin}</span>}
            {caller !== undefined && (
              <span>
                {conversation === undefined ? (
                  t(`caller.${caller}`)
                ) : (
                  <Link href={routes.chat.to(conversation)}>{t(`caller.${caller}`)}</Link>
                )}
              </span>
            )}
            {row.activity !== null && (
              <Link href={routes.activity.to(row.activity)}>{t('card.activity', { id: row.activity })}</Link>
            )}
            {facts}
          </div>
        </header>
        <ScrollBox className={style.body} label={t('card.content')}>
          {row.state !== 'open' && <Outcome row={row} />}
          {children}
        </ScrollBox>
        {row.state === 'open' && (
          <>
            {panel}
            <footer className={style.foot}>
              {deny}
              <Button look="quiet" onClick={defer} data-act="later">
                {t('act.later')}
              </Button>
              {more}
              <span className={style.space} />
              <span className={style.allow}>{allow}</span>
              {!isConnected && <Problem text={t('card.offline')} />}
              {answering.state === 'unknown' && <Problem text={t('card.unknown')} />}
              {answering.state === 'open' && answering.error !== undefined && (
                <ErrorNote error={answering.error} />
              )}
              {deferFailed && <Problem text={t('card.notDeferred')} />}
            </footer>
          </>
        )}
      </article>
    </ArmingProvider>
  )
}

function Problem({ text }: { text: string }): ReactNode {
  return (
    <Note tone="warn" live>
      {text}
    </Note>
  )
}

/** Who answered, what and when; or why the question was closed. */
function Outcome({ row }: { row: Row }): ReactNode {
  const t = useText()
  const { time } = useFormat()
  const { sentence: by } = useHostSentence(row.answer?.by ?? '')
  if (row.answer === undefined)
    return (
      <Note tone="warn">
        {t(`inbox.state.${row.state}`)} {row.reason !== undefined && <HostText text={row.reason} />}
      </Note>
    )
  const { value, at } = row.answer
  const verdict = 'verdict' in value ? value.verdict : value.action
  const isRemembered = row.question.kind === 'approval' && 'remember' in value && value.remember !== undefined
  return (
    <>
      <Note tone="ok">{t('card.answered', { verdict: t(`verdict.${verdict}`), by, time: time(at) })}</Note>
      {isRemembered && <RememberedAnswer row={row} answeredAt={at} />}
    </>
  )
}

/** The grant that was remembered with the answer, with a button to revoke it. */
function RememberedAnswer({ row, answeredAt }: { row: Row; answeredAt: string }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const { data, refetch } = useRead('policy.grants', {})
  const [isSure, setSure] = useState(false)
  const { server, tool } = row.question.cause
  // A grant has no id of its question; it is found by the time of the answer.
  const grant = data?.find(
    (entry) =>
      entry.server === server &&
      (entry.readOnlyTools === true || tool === undefined || plainText(entry.tool) === plainText(tool)) &&
      Math.abs(Date.parse(entry.at) - Date.parse(answeredAt)) < 2_000,
  )
  if (data === undefined) return null
  if (grant === undefined) return <p className={style.settled}>{t('card.forgotten')}</p>
  return (
    <div className={style.row}>
      <span>{t('card.remembered', { scope: t(`remember.${grant.scope}`) })}</span>
      {isSure ? (
        <Button
          small
          onClick={() => void client.call('policy.revoke', { id: grant.id }).then(refetch)}
          data-act="forget-sure"
        >
          {t('card.forgetSure')}
        </Button>
      ) : (
        <Button small look="quiet" onClick={() => setSure(true)} data-act="forget">
          {t('card.forget')}
        </Button>
      )}
    </div>
  )
}

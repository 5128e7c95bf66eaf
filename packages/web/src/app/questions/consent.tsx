import type { Root } from '@jackfield/sdk'
import { type ReactNode, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Findings } from '../text/findings.tsx'
import { Diff, SafeText } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Note } from '../ui/ui.tsx'
import { Address, canOpen } from './address.tsx'
import { type QuestionOf, type Row, toggleIn, useAnswer } from './answer.ts'
import { DecisionButton, DenyButton } from './armed.tsx'
import { Card } from './card.tsx'
import style from './questions.module.css'

/** Asks whether a server may see folders. */
export function RootsCard({ row, question }: { row: Row; question: QuestionOf<'roots'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'roots'>(row)
  const roots = plain<Root[]>(question.roots)
  const [excluded, setExcluded] = useState<ReadonlySet<string>>(new Set())
  const chosen = roots.filter(({ uri }) => !excluded.has(uri))
  return (
    <Card
      row={row}
      title="roots.title"
      answering={answering}
      version={chosen.map(({ uri }) => uri).join(' ')}
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
      allow={
        <DecisionButton
          look="primary"
          isOff={chosen.length === 0}
          onDecide={() => answering.send({ verdict: 'allow', roots: chosen })}
          data-act="allow"
        >
          {t('roots.allow', { count: chosen.length })}
        </DecisionButton>
      }
    >
      {roots.map(({ uri, name }) => {
        const preview = question.folders?.find((folder) => plainText(folder.uri) === uri)
        return (
          <label key={uri} className={style.untrusted}>
            <span className={style.row}>
              <input
                type="checkbox"
                checked={!excluded.has(uri)}
                disabled={row.state !== 'open'}
                onChange={({ target }) => setExcluded(toggleIn(excluded, uri, !target.checked))}
              />
              {name !== undefined && <SafeText text={untrusted(name)} inline />}
              <span className={style.address}>
                <SafeText text={untrusted(uri)} />
              </span>
            </span>
            {preview !== undefined && (
              <span className={style.settled}>
                {t('roots.contents', { folders: preview.folders, files: preview.files })}{' '}
                <SafeText text={untrusted(preview.names.map(plainText).join(', '))} maxCharacters={300} />
              </span>
            )}
            <Findings findings={preview?.findings} />
          </label>
        )
      })}
    </Card>
  )
}

/** Asks whether a server may be started, or an address be used. */
export function StartCard({ row, question }: { row: Row; question: QuestionOf<'start'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'start'>(row)
  const { command, before, program, given, file, findings } = question
  return (
    <Card
      row={row}
      title="start.title"
      answering={answering}
      facts={file !== undefined && <SafeText text={file} maxCharacters={300} inline />}
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
      allow={
        <DecisionButton look="primary" onDecide={() => answering.send({ verdict: 'allow' })} data-act="allow">
          {t('start.allow')}
        </DecisionButton>
      }
    >
      <Note tone="info">{t('start.nothing')}</Note>
      <div className={style.untrusted}>
        <div className={style.argv}>
          {before === undefined ? (
            <SafeText text={command} />
          ) : (
            <Diff before={plainText(before)} after={plainText(command)} />
          )}
        </div>
        {program !== undefined && (
          <div>
            {t('start.program')} <SafeText text={program} />
          </div>
        )}
        <GivenValues given={given} />
      </div>
      <Findings findings={findings} />
    </Card>
  )
}

/** Asks whether to install a server: its publisher, its command, and the change of the file. */
export function InstallationCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'installation'>
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'installation'>(row)
  const { file, starts } = question
  const { publisher, version, command, given, needs, findings } = question.plan
  return (
    <Card
      row={row}
      title="installation.title"
      answering={answering}
      facts={
        <>
          {version !== undefined && <SafeText text={version} inline />}
          {publisher !== undefined && (
            <span>
              {t('registry.by')} <SafeText text={publisher} inline />
            </span>
          )}
        </>
      }
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
      allow={
        <DecisionButton look="primary" onDecide={() => answering.send({ verdict: 'allow' })} data-act="allow">
          {t(starts ? 'installation.allowAndStart' : 'installation.allow')}
        </DecisionButton>
      }
    >
      <div className={style.untrusted}>
        <div className={style.argv}>
          <SafeText text={command} />
        </div>
        {needs.length > 0 && (
          <div>
            {t('installation.needs')} <SafeText text={untrusted(needs.map(({ id }) => id).join(', '))} />
          </div>
        )}
        <div>
          {t('installation.file')} <SafeText text={file} maxCharacters={300} inline />
        </div>
        <GivenValues given={given} />
      </div>
      <Findings findings={findings} />
    </Card>
  )
}

/** The variables or headers that a server gets. */
function GivenValues({ given }: { given: QuestionOf<'start'>['given'] | undefined }): ReactNode {
  if (given === undefined || given.length === 0) return null
  return (
    <table className={style.table}>
      <tbody>
        {given.map(({ name, value }) => (
          <tr key={plainText(name)}>
            <th scope="row">
              <SafeText text={name} inline />
            </th>
            <td>
              <SafeText text={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Asks whether to accept changed definitions of a server. */
export function DriftCard({ row, question }: { row: Row; question: QuestionOf<'drift'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'drift'>(row)
  return (
    <Card
      row={row}
      title="drift.title"
      answering={answering}
      deny={
        <DecisionButton onDecide={() => answering.send({ verdict: 'block' })} data-act="block">
          {t('drift.block')}
        </DecisionButton>
      }
      allow={
        <DecisionButton
          look="primary"
          onDecide={() => answering.send({ verdict: 'accept' })}
          data-act="accept"
        >
          {t('drift.accept')}
        </DecisionButton>
      }
    >
      <p>{t('drift.intro', { count: question.changes.length })}</p>
      {question.changes.map((change, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the changes of a question do not change
        <div key={n} className={style.untrusted} data-change>
          <div className={style.row}>
            <strong>{t(`drift.${change.kind}`, { what: t(`drift.what.${change.what}`) })}</strong>
            <SafeText text={change.name} inline />
            {change.field !== undefined && (
              <span className={style.address}>
                <SafeText text={change.field} inline />
              </span>
            )}
          </div>
          {(change.before !== undefined || change.after !== undefined) && (
            <div>
              <Diff
                before={change.before === undefined ? '' : plainText(change.before)}
                after={change.after === undefined ? '' : plainText(change.after)}
              />
            </div>
          )}
        </div>
      ))}
      <Findings findings={question.findings} />
    </Card>
  )
}

/** Asks the user to sign in at a server. */
export function LoginCard({ row, question }: { row: Row; question: QuestionOf<'login'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'login'>(row)
  const url = plainText(question.url)
  return (
    <Card
      row={row}
      title="login.title"
      answering={answering}
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
      allow={
        <DecisionButton
          look="primary"
          isOff={!canOpen(url)}
          onDecide={() => answering.send({ verdict: 'allow' })}
          data-act="allow"
        >
          {t('login.allow')}
        </DecisionButton>
      }
    >
      <Address url={url} />
      <div className={style.untrusted}>
        <table className={style.table}>
          <tbody>
            <tr>
              <th scope="row">{t('login.issuer')}</th>
              <td>
                <SafeText text={question.issuer} />
              </td>
            </tr>
            <tr>
              <th scope="row">{t('login.scopes')}</th>
              <td>
                <SafeText text={untrusted(question.scopes.map(plainText).join(', ') || '—')} />
              </td>
            </tr>
          </tbody>
        </table>
      </div>
    </Card>
  )
}

import type { ExplainedField } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { ChangeReview, useChange } from '../config/change.tsx'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import { FieldTable } from './server-settings.tsx'
import style from './settings.module.css'

/** The files of the configuration in their order, their problems and texts, and the settings for all servers. */
export default function Configuration(): ReactNode {
  const t = useText()
  const { data, error } = useRead('config.view', {})
  const [open, setOpen] = useState<string>()
  if (error !== null)
    return (
      <Note tone="info">
        <HostText text={untrusted(error.message)} />
      </Note>
    )
  if (data === undefined) return null
  return (
    <>
      <p className={screen.muted}>{t('config.mean')}</p>
      {data.problems.length > 0 && (
        <section className={screen.section}>
          <h3>{t('config.problems', { count: data.problems.length })}</h3>
          {data.problems.map(({ file, line, path, message, severity }) => (
            <Note
              key={`${plainText(file)} ${plainText(path)} ${plainText(message)}`}
              tone={severity === 'error' ? 'danger' : 'warn'}
            >
              <span className={style.code}>
                <SafeText
                  text={untrusted(`${plainText(file)}${line === undefined ? '' : `:${line}`}`)}
                  inline
                />
              </span>{' '}
              {plainText(path) !== '' && <SafeText text={path} inline />} <HostText text={message} />
            </Note>
          ))}
        </section>
      )}
      <section className={screen.section}>
        <h3>{t('config.files')}</h3>
        <ol className={screen.rows}>
          {data.files.map(({ file, layer, app, exists, isOwn, isBroken, isReadOnly }) => (
            <li key={plainText(file)} className={style.file}>
              <div className={style.fileHead}>
                <span className={style.tag}>{t(`layer.${layer}`)}</span>
                <span className={`${screen.grow} ${style.code}`} data-missing={!exists || undefined}>
                  <SafeText text={file} inline />
                </span>
                <span className={screen.muted}>
                  {[
                    ...(isBroken ? [t('config.broken')] : exists ? [] : [t('config.missing')]),
                    ...(isOwn ? [t('config.own')] : []),
                  ].join(' · ')}{' '}
                  {app !== undefined && <SafeText text={app} inline />}
                </span>
                <Button
                  small
                  aria-expanded={open === plainText(file)}
                  onClick={() => setOpen(open === plainText(file) ? undefined : plainText(file))}
                >
                  {t(exists ? 'config.open' : 'config.create')}
                </Button>
              </div>
              {open === plainText(file) && (
                <TextEditor
                  key={data.version}
                  file={plainText(file)}
                  isReadOnly={isReadOnly}
                  onDone={() => setOpen(undefined)}
                />
              )}
            </li>
          ))}
        </ol>
      </section>
      {data.settings.length > 0 && (
        <section className={screen.section}>
          <h3>{t('config.settings')}</h3>
          <FieldTable fields={plain<ExplainedField[]>(data.settings)} />
        </section>
      )}
    </>
  )
}

/** A whole file as text. Secrets are names in brackets, which stand for what the file has. */
function TextEditor({
  file,
  isReadOnly,
  onDone,
}: {
  file: string
  isReadOnly: boolean
  onDone: () => void
}): ReactNode {
  const t = useText()
  const { data, error } = useRead('config.text', { file })
  const [typed, setTyped] = useState<string>()
  const change = useChange(onDone)
  if (error !== null)
    return (
      <Note tone="danger">
        <HostText text={untrusted(error.message)} />
      </Note>
    )
  if (data === undefined) return null
  const text = typed ?? plainText(data.text)
  return (
    <div className={screen.stack}>
      <Field label={t('config.text')} hint={t(isReadOnly ? 'config.readOnly' : 'settings.entryHint')}>
        {(ids) => (
          <textarea
            {...ids}
            className={`${uiStyle.input} ${uiStyle.mono}`}
            rows={Math.max(6, Math.min(28, text.split('\n').length + 1))}
            spellCheck={false}
            readOnly={isReadOnly}
            value={text}
            onChange={({ target }) => {
              setTyped(target.value)
              change.cancel()
            }}
          />
        )}
      </Field>
      {change.planned === undefined && !isReadOnly && (
        <div className={screen.bar}>
          <Button
            look="primary"
            data-act="review"
            isOff={typed === undefined || change.isRunning}
            onClick={() => void change.plan({ kind: 'text', file, text })}
          >
            {t('change.review')}
          </Button>
          <Button onClick={onDone}>{t('change.cancel')}</Button>
        </div>
      )}
      <ChangeReview change={change} />
    </div>
  )
}

import { type ReactNode, useCallback, useState } from 'react'
import { useAct, useHost, useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { Foreign } from '../text/foreign.tsx'
import { foreign, plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, uiStyle } from '../ui/ui.tsx'
import style from './settings.module.css'

/** Secrets by name: which servers use them, replace, remove. A value is never shown, and leaves the page only to be stored. */
export function Secrets(): ReactNode {
  const t = useText()
  const { client, queries } = useHost()
  const data = useRead('secrets.list', {}).data
  const missing = useRead('secrets.missing', {}).data
  const [edited, setEdited] = useState<string>()
  const [removing, setRemoving] = useState<string>()
  const changed = useCallback(() => queries.invalidateQueries({ queryKey: ['secrets'] }), [queries])
  const remove = useAct(
    useCallback(
      async (name: string) => {
        await client.call('secrets.remove', { name })
        setRemoving(undefined)
        await changed()
      },
      [client, changed],
    ),
  )
  const names = new Set(data?.secrets.map(({ name }) => plainText(name)))
  const wanted = (missing ?? []).filter(({ secret }) => !names.has(plainText(secret)))
  return (
    <>
      <p className={screen.muted}>
        {t('settings.secretsMean')} {data !== undefined && <Foreign text={data.kind} inline />}
      </p>
      {remove.error !== undefined && <ErrorNote error={remove.error} />}
      {data?.secrets.length === 0 && wanted.length === 0 && (
        <p className={screen.muted}>{t('settings.noSecrets')}</p>
      )}
      <ul className={screen.rows} aria-label={t('settings.secrets')}>
        {wanted.map(({ server, secret, input }) => (
          <SecretRow
            key={plainText(secret)}
            name={plainText(secret)}
            usedBy={[server]}
            note={t('secrets.missing')}
            {...(input.description !== undefined && { description: plainText(input.description) })}
            isEdited={edited === plainText(secret)}
            onEdit={(isOpen) => setEdited(isOpen ? plainText(secret) : undefined)}
            onSaved={changed}
          />
        ))}
        {data?.secrets.map(({ name, usedBy }) => (
          <SecretRow
            key={plainText(name)}
            name={plainText(name)}
            usedBy={usedBy.map(plainText)}
            isEdited={edited === plainText(name)}
            onEdit={(isOpen) => setEdited(isOpen ? plainText(name) : undefined)}
            onSaved={changed}
            isRemoving={removing === plainText(name)}
            onRemove={(isSure) => (isSure ? void remove.run(plainText(name)) : setRemoving(plainText(name)))}
          />
        ))}
      </ul>
      <NewSecret onSaved={changed} />
    </>
  )
}

function SecretRow({
  name,
  usedBy,
  note,
  description,
  isEdited,
  onEdit,
  onSaved,
  isRemoving = false,
  onRemove,
}: {
  name: string
  usedBy: readonly string[]
  note?: string
  description?: string
  isEdited: boolean
  onEdit: (isOpen: boolean) => void
  onSaved: () => Promise<void>
  isRemoving?: boolean
  onRemove?: (isSure: boolean) => void
}): ReactNode {
  const t = useText()
  return (
    <li className={screen.row}>
      <span className={`${screen.grow} ${style.secret}`}>
        <span className={style.code}>
          <Foreign text={foreign(name)} inline />
        </span>
        <span className={screen.muted}>
          {note !== undefined && <strong>{note} </strong>}
          {usedBy.length === 0 ? t('secrets.unused') : t('secrets.usedBy', { servers: usedBy.join(', ') })}
          {description !== undefined && (
            <>
              {' · '}
              <Foreign text={foreign(description)} most={200} inline />
            </>
          )}
        </span>
      </span>
      <span className={style.acts}>
        <Button small data-act="replace" onClick={() => onEdit(!isEdited)}>
          {t(note === undefined ? 'secrets.replace' : 'secrets.enter')}
        </Button>
        {onRemove !== undefined && (
          <Button small data-act="remove" onClick={() => onRemove(isRemoving)}>
            {t(isRemoving ? 'secrets.removeSure' : 'secrets.remove')}
          </Button>
        )}
      </span>
      {isEdited && (
        <div className={style.whole}>
          <SecretValue
            name={name}
            onDone={async () => {
              onEdit(false)
              await onSaved()
            }}
          />
        </div>
      )}
    </li>
  )
}

/** A field for a value, which this component alone holds until it is stored. */
function SecretValue({ name, onDone }: { name: string; onDone: () => Promise<void> }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [value, setValue] = useState('')
  const save = useAct(
    useCallback(async () => {
      await client.call('secrets.set', { name, value })
      setValue('')
      await onDone()
    }, [client, name, value, onDone]),
  )
  return (
    <form
      className={style.inline}
      onSubmit={(event) => {
        event.preventDefault()
        if (value !== '' && name !== '') void save.run()
      }}
    >
      <Field label={t('secrets.value')} hint={t('secrets.valueHint')}>
        {(ids) => (
          <input
            {...ids}
            type="password"
            autoComplete="off"
            className={uiStyle.input}
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
        )}
      </Field>
      <Button
        look="primary"
        type="submit"
        isOff={value === '' || name === '' || save.isRunning}
        data-act="store"
      >
        {t('secrets.store')}
      </Button>
      {save.error !== undefined && <ErrorNote error={save.error} />}
    </form>
  )
}

function NewSecret({ onSaved }: { onSaved: () => Promise<void> }): ReactNode {
  const t = useText()
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  if (!isOpen)
    return (
      <div>
        <Button data-act="add" onClick={() => setOpen(true)}>
          {t('secrets.add')}
        </Button>
      </div>
    )
  return (
    <section className={style.panel} aria-label={t('secrets.add')}>
      {/* biome-ignore lint/suspicious/noTemplateCurlyInString: the reference is written so in configurations */}
      <Field label={t('secrets.name')} hint={t('secrets.nameHint', { reference: '${secret:NAME}' })}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            spellCheck={false}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <SecretValue
        name={name.trim()}
        onDone={async () => {
          setOpen(false)
          setName('')
          await onSaved()
        }}
      />
    </section>
  )
}

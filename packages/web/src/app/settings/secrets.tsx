import type { Fix, MissingInput } from '@jackfield/host/browser'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useAction, useHost, useRead, useTopic } from '../data/host.tsx'
import { rich, useText } from '../i18n/i18n.ts'
import { routes, useAddress } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { StateLamp } from '../ui/state-lamp.tsx'
import { Button, Field, uiStyle } from '../ui/ui.tsx'
import style from './settings.module.css'

/** Secrets by name: which servers use them, replace, remove. A value is never shown, and leaves the page only to be stored. */
export function Secrets(): ReactNode {
  const t = useText()
  const { client, queries } = useHost()
  const data = useRead('secrets.list', {}).data
  const missing = useRead('secrets.missing', {}).data
  const { query } = useAddress()
  const [edited, setEdited] = useState(() => query.get('name') ?? undefined)
  const [removing, setRemoving] = useState<string>()
  const changed = useCallback(() => queries.invalidateQueries({ queryKey: ['secrets'] }), [queries])
  const remove = useAction(
    useCallback(
      async (name: string) => {
        await client.call('secrets.remove', { name })
        setRemoving(undefined)
        await changed()
      },
      [client, changed],
    ),
  )
  const servers = useTopic('servers')
  const names = new Set(data?.secrets.map(({ name }) => plainText(name)))
  const unstored = missingValuesOf(servers, missing ?? []).filter(({ name }) => !names.has(name))
  return (
    <>
      <p className={screen.muted}>
        {data !== undefined &&
          rich(t, 'settings.secretsMean', { kind: <HostText text={data.kind} inline /> })}
      </p>
      {remove.error !== undefined && <ErrorNote error={remove.error} />}
      {data?.secrets.length === 0 && unstored.length === 0 && (
        <p className={screen.muted}>{t('settings.noSecrets')}</p>
      )}
      <ul className={screen.rows} aria-label={t('settings.secrets')}>
        {unstored.map(({ name, usedBy, description }) => (
          <SecretRow
            key={name}
            name={name}
            usedBy={usedBy}
            servers={servers}
            note={t('secrets.missing')}
            {...(description !== undefined && { description })}
            isEdited={edited === name}
            onEdit={(isOpen) => setEdited(isOpen ? name : undefined)}
            onSaved={changed}
          />
        ))}
        {data?.secrets.map(({ name, usedBy }) => (
          <SecretRow
            key={plainText(name)}
            name={plainText(name)}
            usedBy={usedBy.map(plainText)}
            servers={servers}
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

type Servers = ReturnType<typeof useTopic<'servers'>>

/** The values that servers need, by name: inputs of their files, and secrets whose absence made them fail. */
function missingValuesOf(
  servers: Servers,
  inputs: FromHost<readonly MissingInput[]>,
): { name: string; usedBy: readonly string[]; description?: string }[] {
  const fromFixes = [...(servers ?? [])].flatMap(([server, { connection }]) =>
    connection.state === 'failed'
      ? plain<readonly Fix[]>(connection.fixes).flatMap((fix) =>
          fix.action === 'set-secret' ? [{ name: fix.name, server, description: undefined }] : [],
        )
      : [],
  )
  const fromInputs = inputs.map(({ server, secret, input: { description } }) => ({
    ...{ name: plainText(secret), server },
    description: description === undefined ? undefined : plainText(description),
  }))
  return [...Map.groupBy([...fromInputs, ...fromFixes], ({ name }) => name)].map(([name, uses]) => {
    const description = uses.find((use) => use.description !== undefined)?.description
    return {
      name,
      usedBy: [...new Set(uses.map(({ server }) => server))],
      ...(description !== undefined && { description }),
    }
  })
}

function SecretRow({
  name,
  usedBy,
  servers,
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
  servers: Servers
  note?: string
  description?: string
  isEdited: boolean
  onEdit: (isOpen: boolean) => void
  onSaved: () => Promise<void>
  isRemoving?: boolean
  onRemove?: (isSure: boolean) => void
}): ReactNode {
  const t = useText()
  /** The servers that ran when the value was replaced, with their start times: until they restart they use the old value. */
  const [before, setBefore] = useState<ReadonlyMap<string, number>>(new Map())
  const running = usedBy.flatMap((server) => {
    const connection = servers?.get(server)?.connection
    const isUp = connection?.state === 'ready' || connection?.state === 'degraded'
    return isUp ? [[server, connection.sinceMs] as const] : []
  })
  const outdated = running.flatMap(([server, sinceMs]) => (before.get(server) === sinceMs ? [server] : []))
  return (
    <li className={screen.row}>
      <span className={`${screen.grow} ${style.secret}`}>
        <span className={style.code}>
          <SafeText text={untrusted(name)} inline />
        </span>
        <span className={screen.muted}>
          {note !== undefined && <strong>{note} </strong>}
          {usedBy.length === 0
            ? t('secrets.unused')
            : rich(t, 'secrets.usedBy', { servers: <Users names={usedBy} servers={servers} /> })}
          {description !== undefined && (
            <>
              {' · '}
              <SafeText text={untrusted(description)} maxCharacters={200} inline />
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
              setBefore(new Map(running))
              await onSaved()
            }}
          />
        </div>
      )}
      {outdated.length > 0 && (
        <div className={`${style.whole} ${style.acts}`} role="status">
          <span className={screen.muted}>{t('secrets.earlier')}</span>
          {outdated.map((server) => (
            <RestartButton key={server} server={server} />
          ))}
        </div>
      )}
    </li>
  )
}

/** The servers that use a secret, with their states. */
function Users({ names, servers }: { names: readonly string[]; servers: Servers }): ReactNode {
  return (
    <span className={style.users}>
      {names.map((name) => {
        const state = servers?.get(name)?.connection.state
        return (
          <span key={name} className={style.user}>
            <Link href={routes.server.to(name)}>
              <bdi>{name}</bdi>
            </Link>
            {state !== undefined && <StateLamp state={state} />}
          </span>
        )
      })}
    </span>
  )
}

function RestartButton({ server }: { server: string }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const restart = useAction(
    useCallback(
      () => client.call('runs.start', { request: { kind: 'reconnect', server } }),
      [client, server],
    ),
  )
  return (
    <>
      <Button small isOff={restart.isRunning} onClick={() => restart.run()} data-act="restart">
        {t('secrets.restart', { server })}
      </Button>
      {restart.error !== undefined && <ErrorNote error={restart.error} />}
    </>
  )
}

/** An input for a value, which is kept in this component only until it is stored. */
function SecretValue({ name, onDone }: { name: string; onDone: () => Promise<void> }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [value, setValue] = useState('')
  const form = useRef<HTMLFormElement>(null)
  const [isNamed] = useState(name !== '')
  // The form of a known secret is opened to enter its value.
  useEffect(() => {
    if (isNamed) form.current?.querySelector('input')?.focus()
  }, [isNamed])
  const save = useAction(
    useCallback(async () => {
      await client.call('secrets.set', { name, value })
      setValue('')
      await onDone()
    }, [client, name, value, onDone]),
  )
  return (
    <form
      ref={form}
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

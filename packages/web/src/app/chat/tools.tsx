import { type ReactNode, useEffect, useState } from 'react'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { plainText, type untrusted } from '../text/untrusted-text.ts'
import style from './chat.module.css'
import type { InfoRow } from './context-panel.tsx'

/** The tools that a conversation offers to the model, with a switch for each server and tool, and their tokens. */
export function ToolsSection({ conversation, info }: { conversation: string; info: InfoRow }): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const { client } = useHost()
  const all = useRead('catalog.tools', {}).data
  const { data: meter, refetch } = useRead('catalog.meter', { conversation })
  const switches = JSON.stringify(info.toolSwitches)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the meter leaves out what is switched off
  useEffect(() => refetch(), [switches])
  const action = useAction(async (on: boolean, pattern: string) => {
    await client.call('conversations.switchTools', { id: conversation, on, patterns: [pattern] })
  })
  const offered = new Map(
    meter?.servers.map(({ server, tools, tokens }) => [
      server,
      { tokens, tools: new Set(tools.map(({ name }) => plainText(name))) },
    ]),
  )
  const servers = Map.groupBy(all ?? [], ({ server }) => server)
  return (
    <section className={style.part} aria-label={t('context.tools')} data-section="tools">
      <h3>
        {t('context.tools')}{' '}
        {meter !== undefined && (
          <small>{t('context.toolsOf', { count: meter.tools, tokens: compact(meter.tokens) })}</small>
        )}
      </h3>
      {meter?.deferred === true && (
        <p className={style.quiet}>
          <HostText text={meter.reason} maxCharacters={300} />
        </p>
      )}
      {action.error !== undefined && <ErrorNote error={action.error} />}
      <ul>
        {[...servers].map(([server, tools]) => (
          <ServerTools
            key={server}
            server={server}
            tools={tools.map(({ name, tool }) => ({ name: plainText(name), title: tool.name }))}
            offered={offered.get(server)}
            isOff={action.isRunning || meter === undefined}
            onSwitch={action.run}
          />
        ))}
      </ul>
    </section>
  )
}

function ServerTools({
  server,
  tools,
  offered,
  isOff,
  onSwitch,
}: {
  server: string
  tools: readonly { readonly name: string; readonly title: ReturnType<typeof untrusted> }[]
  offered: { readonly tokens: number; readonly tools: ReadonlySet<string> } | undefined
  isOff: boolean
  onSwitch: (on: boolean, pattern: string) => void
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const [isOpen, setOpen] = useState(false)
  const on = tools.filter(({ name }) => offered?.tools.has(name) === true).length
  return (
    <li className={style.switched}>
      <div className={style.pick}>
        <input
          type="checkbox"
          aria-label={t('context.toolsOfServer', { server })}
          checked={on > 0}
          disabled={isOff}
          ref={(element) => {
            if (element !== null) element.indeterminate = on > 0 && on < tools.length
          }}
          onChange={({ target }) => onSwitch(target.checked, server)}
        />
        <button
          type="button"
          className={style.opener}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <ServerBadge name={server} />
          <span className={style.cut}>
            <bdi>{server}</bdi>
          </span>
          <small>
            {t('context.offeredOf', {
              count: on,
              shown: on === tools.length ? on : `${on}/${tools.length}`,
            })}
            {offered !== undefined && ` · ${t('library.tokens', { count: compact(offered.tokens) })}`}
          </small>
        </button>
      </div>
      {isOpen && (
        <ul>
          {tools.map(({ name, title }) => (
            <li key={name}>
              <label className={style.pick}>
                <input
                  type="checkbox"
                  checked={offered?.tools.has(name) === true}
                  disabled={isOff}
                  onChange={({ target }) => onSwitch(target.checked, name)}
                />
                <span className={style.cut}>
                  <SafeText text={title} maxCharacters={60} inline />
                </span>
              </label>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

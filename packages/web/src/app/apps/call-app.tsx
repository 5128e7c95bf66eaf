import { appOf, type CatalogTool } from '@jackfield/host/browser'
import type { CallToolResult } from '@jackfield/sdk'
import { type ReactNode, useEffect, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { isRecord } from '../text/pieces.ts'
import { plain } from '../text/untrusted-text.ts'
import { Button } from '../ui/ui.tsx'
import { AppView } from './app-view.tsx'
import style from './apps.module.css'

/** Maximum number of apps of a conversation that open automatically. */
const maxAutoOpened = 3

let autoOpened = 0

/** The app of a call, if its tool has one. It opens automatically for a new call, otherwise on a click. */
export function CallApp({
  name,
  input,
  result,
  cancelled,
  conversation,
  activity,
  isNew,
}: {
  /** The tool's name in the catalog. */
  name: string
  input: unknown
  result: unknown
  cancelled: string | undefined
  conversation: string | undefined
  activity: number | undefined
  isNew: boolean
}): ReactNode {
  const t = useText()
  const tools = useRead('catalog.tools', {}).data
  const calledTool = resolveCalledTool(name, input)
  const entry = plain<CatalogTool[] | undefined>(tools)?.find(
    (candidate) => candidate.name === calledTool.name,
  )
  const uri = entry && appOf(entry.tool)
  const [isOpen, setOpen] = useState(false)
  const hasApp = uri !== undefined
  useEffect(() => {
    if (!isNew || !hasApp || autoOpened >= maxAutoOpened) return
    autoOpened += 1
    setOpen(true)
    return () => {
      autoOpened -= 1
    }
  }, [isNew, hasApp])
  if (entry === undefined || uri === undefined) return null
  if (!isOpen)
    return (
      <div className={style.offer}>
        <Button small onClick={() => setOpen(true)} data-act="app-open">
          {t('app.show')}
        </Button>
      </div>
    )
  return (
    <AppView
      tool={entry.name}
      uri={uri}
      server={entry.server}
      conversation={conversation}
      activity={activity}
      input={calledTool.input}
      result={isResult(result) ? result : undefined}
      cancelled={cancelled}
    />
  )
}

/** The tool and arguments of a call; those inside of a `call_tool` of the tool search. */
function resolveCalledTool(
  name: string,
  input: unknown,
): { name: string; input: Readonly<Record<string, unknown>> } {
  const parameters = isRecord(input) ? input : {}
  const { name: inner, arguments: args = {} } = parameters
  return name === 'call_tool' && typeof inner === 'string' && isRecord(args)
    ? { name: inner, input: args }
    : { name, input: parameters }
}

function isResult(value: unknown): value is CallToolResult {
  return isRecord(value) && Array.isArray(value['content'])
}

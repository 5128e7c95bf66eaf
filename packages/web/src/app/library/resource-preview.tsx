import type { ContentPreview } from '@jackfield/host/browser'
import type { LibraryLeaf } from '@jackfield/host/client'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Bytes } from '../text/bytes.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, JsonTree, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Note, uiStyle, Views } from '../ui/ui.tsx'
import style from './library.module.css'
import { TemplateForm } from './template-form.tsx'

/** The contents of a resource as text, tree or bytes; or the variables of a template. */
export function ResourcePreview({
  server,
  uri,
  isChosen,
  onChoose,
}: {
  server: string
  uri: string
  isChosen: boolean
  onChoose: (leaves: readonly LibraryLeaf[], isChosen: boolean) => void
}): ReactNode {
  const t = useText()
  const templates = useRead('catalog.templates', { server }).data
  const template = templates?.find((entry) => plainText(entry.template.uriTemplate) === uri)?.template
  return (
    <div className={screen.stack}>
      <Link
        href={routes.library.to()}
        className={`${uiStyle.button} ${uiStyle.small} ${screen.back} ${style.back}`}
      >
        ‹ {t('nav.library')}
      </Link>
      <h2 className={style.heading}>
        <SafeText text={untrusted(uri)} inline />
      </h2>
      {template !== undefined ? (
        <TemplateForm server={server} uriTemplate={uri} description={template.description} />
      ) : (
        templates !== undefined && (
          <Contents server={server} uri={uri} isChosen={isChosen} onChoose={onChoose} />
        )
      )}
    </div>
  )
}

function Contents({
  server,
  uri,
  isChosen,
  onChoose,
}: {
  server: string
  uri: string
  isChosen: boolean
  onChoose: (leaves: readonly LibraryLeaf[], isChosen: boolean) => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { data, error, isPending } = useRead('library.preview', { server, uri })
  if (error !== null) return <ErrorNote error={error} />
  if (data === undefined) return isPending ? <p className={screen.muted}>{t('library.reading')}</p> : null
  return (
    <>
      <div className={screen.bar}>
        <span className={`${screen.muted} ${screen.grow}`}>
          {server} · {t('library.tokens', { count: number(data.tokens) })}
        </span>
        {data.withheld === undefined && (
          <Button
            small
            data-act="choose"
            aria-pressed={isChosen}
            onClick={() => onChoose([{ server, uri, title: uri, tokens: data.tokens }], !isChosen)}
          >
            {t(isChosen ? 'library.unchoose' : 'library.chooseOne')}
          </Button>
        )}
      </div>
      {data.withheld !== undefined && (
        <Note tone="info">
          <HostText text={data.withheld} />
        </Note>
      )}
      {data.contents.map((content) => (
        <Content key={plainText(content.uri)} content={content} />
      ))}
    </>
  )
}

type View = 'text' | 'tree' | 'hex' | 'image'

function viewsOf(content: FromHost<ContentPreview>): View[] {
  switch (content.type) {
    case 'json':
      return ['text', 'tree', 'hex']
    case 'text':
    case 'markdown':
      return ['text', 'hex']
    case 'image':
      return content.data === undefined ? [] : ['image', 'hex']
    case 'audio':
      return content.data === undefined ? [] : ['hex']
    case 'binary':
      return ['hex']
  }
}

function Content({ content }: { content: FromHost<ContentPreview> }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const views = viewsOf(content)
  const [selectedView, setView] = useState<View>()
  const view = selectedView ?? views[0]
  const uri = plainText(content.uri)
  return (
    <div className={screen.stack}>
      <div className={screen.bar}>
        <span className={`${screen.muted} ${screen.grow}`}>
          {content.mimeType !== undefined && <SafeText text={content.mimeType} maxCharacters={80} inline />}{' '}
          {t('library.bytes', { count: number(content.bytes) })}
        </span>
        {views.length > 1 && view !== undefined && (
          <Views
            label={t('library.views')}
            views={views.map((name) => [name, t(`library.view.${name}`)] as const)}
            value={view}
            onChange={setView}
          />
        )}
      </div>
      {view === 'text' && 'text' in content && (
        <>
          <SafeTextBox text={content.text} label={uri} />
          {content.leftOut > 0 && (
            <p className={screen.muted}>{t('library.leftOut', { count: content.leftOut })}</p>
          )}
        </>
      )}
      {view === 'tree' && content.type === 'json' && <Tree text={plainText(content.text)} label={uri} />}
      {view === 'image' && content.type === 'image' && content.data !== undefined && (
        <img
          className={style.image}
          alt={uri}
          src={`data:${imageType(plain<string | undefined>(content.mimeType))};base64,${plainText(content.data)}`}
        />
      )}
      {view === 'hex' && <Hex content={content} label={uri} />}
      {view === undefined && <p className={screen.muted}>{t('library.tooLarge')}</p>}
    </div>
  )
}

/** Only types that cannot hold a program. */
function imageType(type: string | undefined): string {
  return type !== undefined && /^image\/(?:png|jpeg|gif|webp|avif)$/.test(type) ? type : 'image/png'
}

function Tree({ text, label }: { text: string; label: string }): ReactNode {
  const t = useText()
  const value = useMemo((): { json: unknown } | undefined => {
    try {
      return { json: JSON.parse(text) }
    } catch {
      return undefined
    }
  }, [text])
  if (value === undefined) return <p className={screen.muted}>{t('library.cutJson')}</p>
  return <JsonTree value={value.json} label={label} />
}

function Hex({ content, label }: { content: FromHost<ContentPreview>; label: string }): ReactNode {
  const t = useText()
  const base64 = useMemo(() => {
    if ('text' in content) return encoded(new TextEncoder().encode(plainText(content.text)))
    if (content.type === 'binary')
      return encoded(
        Uint8Array.from(plainText(content.head).match(/[0-9a-f]{2}/gi) ?? [], (byte) =>
          Number.parseInt(byte, 16),
        ),
      )
    return content.data === undefined ? '' : plainText(content.data)
  }, [content])
  return (
    <>
      {content.type === 'binary' && content.looksLike !== undefined && (
        <p className={screen.muted}>
          {t('library.looksLike')} <SafeText text={content.looksLike} inline />
        </p>
      )}
      <Bytes base64={base64} label={label} />
      {content.type === 'binary' && <p className={screen.muted}>{t('library.head')}</p>}
    </>
  )
}

function encoded(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

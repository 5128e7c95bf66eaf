import { Play, Square } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Bytes } from '../text/bytes.tsx'
import { isRecord } from '../text/pieces.ts'
import { JsonTree, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Button, Note, Views } from '../ui/ui.tsx'
import style from './inspect.module.css'

/** Images that a page may show. SVG can contain scripts and is none of them. */
const imageTypes = /^image\/(?:png|jpeg|gif|webp|avif)$/
const maxParsed = 1_000_000

/** Blocks of a result or a prompt, or contents of a resource: text, images, sound, bytes, links. */
export function Contents({
  blocks,
  server,
  label,
}: {
  blocks: unknown
  server: string
  label: string
}): ReactNode {
  const t = useText()
  const list: readonly unknown[] = Array.isArray(blocks) ? blocks : [blocks]
  if (list.length === 0) return <p className={style.quiet}>{t('content.none')}</p>
  return list.map((block, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one result have no other identity
    <Block key={n} block={block} server={server} label={`${label} ${n + 1}`} />
  ))
}

interface Shown {
  readonly kind: 'text' | 'image' | 'audio' | 'link' | 'bytes' | 'other'
  readonly text?: string
  readonly base64?: string
  readonly mimeType?: string
  readonly uri?: string
  readonly name?: string
}

function shownOf(block: unknown): Shown {
  if (!isRecord(block)) return { kind: 'other' }
  const string = (name: string): string | undefined => {
    const value = block[name]
    return typeof value === 'string' ? value : undefined
  }
  const [mimeType, uri, name] = [string('mimeType'), string('uri'), string('title') ?? string('name')]
  const facts = {
    ...(mimeType !== undefined && { mimeType }),
    ...(uri !== undefined && { uri }),
    ...(name !== undefined && { name }),
  }
  const { type, resource } = block
  const [text, data] = [string('text'), string('data') ?? string('blob')]
  if (type === 'resource' && isRecord(resource)) return { ...shownOf(resource) }
  if (type === 'resource_link') return { kind: 'link', ...facts }
  if (data !== undefined && isBase64(data)) {
    if (mimeType !== undefined && imageTypes.test(mimeType)) return { kind: 'image', base64: data, ...facts }
    if (mimeType?.startsWith('audio/') === true) return { kind: 'audio', base64: data, ...facts }
    return { kind: 'bytes', base64: data, ...facts }
  }
  if (text !== undefined && (type === undefined || type === 'text')) return { kind: 'text', text, ...facts }
  return { kind: 'other' }
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 !== 1
}

type BlockView = 'text' | 'tree' | 'image' | 'audio' | 'hex'

function Block({ block, server, label }: { block: unknown; server: string; label: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { kind, text, base64, mimeType, uri, name } = useMemo(() => shownOf(block), [block])
  const parsed = useMemo(() => jsonIn(text), [text])
  const views: readonly BlockView[] =
    kind === 'text'
      ? parsed === undefined
        ? ['text']
        : ['tree', 'text']
      : kind === 'image'
        ? ['image', 'hex']
        : kind === 'audio'
          ? ['audio', 'hex']
          : kind === 'bytes'
            ? ['hex']
            : ['tree']
  const [chosen, setView] = useState<BlockView>()
  const view = chosen !== undefined && views.includes(chosen) ? chosen : (views[0] ?? 'tree')
  const audience = isRecord(block) && isRecord(block['annotations']) ? block['annotations'] : undefined
  const size =
    text !== undefined
      ? t('content.characters', { count: number(text.length) })
      : base64 !== undefined && t('content.bytes', { count: number(Math.floor((base64.length * 3) / 4)) })
  return (
    <div className={style.block}>
      <header className={style.blockHead}>
        <span>{t(`content.${kind}`)}</span>
        {mimeType !== undefined && <SafeText text={untrusted(mimeType)} inline maxCharacters={80} />}
        {size !== false && <span>{size}</span>}
        {audience !== undefined && (
          <SafeText text={untrusted(annotationsIn(audience))} inline maxCharacters={120} />
        )}
        {uri !== undefined && kind !== 'link' && (
          <SafeText text={untrusted(uri)} inline maxCharacters={200} />
        )}
        {views.length > 1 && (
          <Views
            label={t('content.view')}
            views={views.map((name) => [name, t(`content.as.${name}`)] as const)}
            value={view}
            onChange={setView}
          />
        )}
      </header>
      {kind === 'link' && uri !== undefined ? (
        <p>
          <Link href={routes.inspectItem.to(server, 'resources', uri)}>
            <SafeText text={untrusted(name ?? uri)} inline />
          </Link>{' '}
          <SafeText text={untrusted(uri)} inline maxCharacters={200} />
        </p>
      ) : view === 'image' ? (
        <Picture base64={base64 ?? ''} mimeType={mimeType ?? ''} name={name ?? label} />
      ) : view === 'audio' ? (
        <Sound base64={base64 ?? ''} />
      ) : view === 'hex' ? (
        <Bytes base64={base64 ?? ''} label={label} />
      ) : view === 'text' ? (
        <SafeTextBox text={untrusted(text ?? '')} label={label} />
      ) : (
        <JsonTree value={parsed ?? block} label={label} />
      )}
    </div>
  )
}

function annotationsIn(annotations: Record<string, unknown>): string {
  return Object.entries(annotations)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
}

/** Objects and lists that a text writes as JSON. */
function jsonIn(text: string | undefined): object | undefined {
  if (text === undefined || text.length > maxParsed || !/^\s*[[{]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function Picture({ base64, mimeType, name }: { base64: string; mimeType: string; name: string }): ReactNode {
  const t = useText()
  const [size, setSize] = useState<{ width: number; height: number }>()
  const [isBroken, setBroken] = useState(false)
  if (isBroken) return <Note tone="warn">{t('content.broken')}</Note>
  return (
    <figure className={style.picture}>
      <img
        src={`data:${mimeType};base64,${base64}`}
        alt={t('content.imageOf', { name })}
        onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
          setSize({ width, height })
        }
        onError={() => setBroken(true)}
      />
      {size !== undefined && (
        <figcaption>
          {size.width} × {size.height}
        </figcaption>
      )}
    </figure>
  )
}

const waveWidth = 600
const waveHeight = 64

/** Sound as a wave, played when the person wants that. Decoded in memory, so that nothing is loaded by an address. */
function Sound({ base64 }: { base64: string }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [sound, setSound] = useState<AudioBuffer | 'broken'>()
  const [playing, setPlaying] = useState<{ context: AudioContext }>()
  useEffect(() => {
    let isGone = false
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    new OfflineAudioContext(1, 1, 44_100).decodeAudioData(bytes.buffer).then(
      (decoded) => {
        if (!isGone) setSound(decoded)
      },
      () => {
        if (!isGone) setSound('broken')
      },
    )
    return () => {
      isGone = true
    }
  }, [base64])
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (context == null || sound === undefined || sound === 'broken') return
    const samples = sound.getChannelData(0)
    const step = Math.max(1, Math.floor(samples.length / waveWidth))
    context.clearRect(0, 0, waveWidth, waveHeight)
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent')
    for (let x = 0; x < waveWidth; x++) {
      let peak = 0
      for (let n = x * step; n < Math.min(samples.length, (x + 1) * step); n++)
        peak = Math.max(peak, Math.abs(samples[n] ?? 0))
      const height = Math.max(1, peak * waveHeight)
      context.fillRect(x, (waveHeight - height) / 2, 1, height)
    }
  }, [sound])
  useEffect(() => () => void playing?.context.close(), [playing])
  if (sound === 'broken') return <Note tone="warn">{t('content.broken')}</Note>
  const play = (): void => {
    if (sound === undefined) return
    const context = new AudioContext()
    const source = context.createBufferSource()
    source.buffer = sound
    source.connect(context.destination)
    source.onended = () => setPlaying(undefined)
    source.start()
    setPlaying({ context })
  }
  return (
    <div className={style.sound}>
      <Button
        small
        isOff={sound === undefined}
        onClick={() => (playing === undefined ? play() : setPlaying(undefined))}
      >
        {playing === undefined ? (
          <Play size={16} strokeWidth={1.5} aria-hidden="true" />
        ) : (
          <Square size={16} strokeWidth={1.5} aria-hidden="true" />
        )}
        {t(playing === undefined ? 'content.play' : 'content.stop')}
      </Button>
      <canvas ref={canvas} width={waveWidth} height={waveHeight} role="img" aria-label={t('content.wave')} />
      {sound !== undefined && <span className={style.quiet}>{duration(sound.duration * 1_000)}</span>}
    </div>
  )
}

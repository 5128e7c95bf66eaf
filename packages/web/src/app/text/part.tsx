import { Component, type ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Button, Note } from '../ui/ui.tsx'
import { SafeText } from './safe-text.tsx'
import { untrusted } from './untrusted-text.ts'

interface Failure {
  readonly error?: unknown
  readonly name: string
}

/**
 * An error boundary. If a part of the page fails or cannot be loaded, an error is shown in its place and the rest of the page keeps
 * working. `name`: identifies the part; another name resets the boundary.
 */
export class Part extends Component<{ name: string; children: ReactNode }, Failure> {
  override state: Failure = { name: this.props.name }

  static getDerivedStateFromError(error: unknown): Pick<Failure, 'error'> {
    return { error: error ?? new Error('Unknown') }
  }

  static getDerivedStateFromProps({ name }: { name: string }, state: Failure): Failure | null {
    return name === state.name ? null : { name, error: undefined }
  }

  override render(): ReactNode {
    const { error } = this.state
    return error === undefined ? this.props.children : <Failed error={error} />
  }
}

/** Whether an error says that code or styles could not be loaded. The messages differ by browser. */
function isNotLoaded(message: string): boolean {
  return /preload CSS|dynamically imported module|importing a module/i.test(message)
}

function Failed({ error }: { error: unknown }): ReactNode {
  const t = useText()
  const message = error instanceof Error ? error.message : String(error)
  return (
    <Note tone="danger" live>
      <p>{t('part.failed')}</p>
      <p>
        {isNotLoaded(message) ? (
          t('part.notLoaded')
        ) : (
          <SafeText text={untrusted(message)} maxCharacters={600} />
        )}
      </p>
      <Button small onClick={() => location.reload()} data-act="reload">
        {t('gate.reload')}
      </Button>
    </Note>
  )
}

// What entitles a program to GPUs: the JSON in SLUICE_GRANT.

export interface GrantServer {
  /** host:port of the server's data plane. */
  readonly address: string;
  /** "sha256:…" of the server's certificate; empty when TLS is off. */
  readonly fingerprint: string;
  /** memoryMib null: the whole GPU. */
  readonly gpus: readonly { readonly uuid: string; readonly memoryMib: number | null }[];
}

export interface Grant {
  readonly version: number;
  readonly allocation: string;
  /** 256 bits in hex; never logged or printed. */
  readonly secret: string;
  readonly tls: boolean;
  readonly servers: readonly GrantServer[];
}

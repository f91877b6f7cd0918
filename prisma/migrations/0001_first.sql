-- Sign-in: the tables better-auth works with.
CREATE TABLE "user" (
  "id" text PRIMARY KEY,
  "name" text NOT NULL,
  "email" text NOT NULL UNIQUE,
  "emailVerified" boolean NOT NULL DEFAULT false,
  "image" text,
  "role" text NOT NULL DEFAULT 'viewer' CHECK ("role" IN ('viewer', 'user', 'operator', 'admin')),
  "createdAt" timestamptz(3) NOT NULL DEFAULT now(),
  "updatedAt" timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE "session" (
  "id" text PRIMARY KEY,
  "token" text NOT NULL UNIQUE,
  "expiresAt" timestamptz(3) NOT NULL,
  "createdAt" timestamptz(3) NOT NULL DEFAULT now(),
  "updatedAt" timestamptz(3) NOT NULL DEFAULT now(),
  "ipAddress" text,
  "userAgent" text,
  "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE
);
CREATE INDEX "session_userId_idx" ON "session" ("userId");

CREATE TABLE "account" (
  "id" text PRIMARY KEY,
  "accountId" text NOT NULL,
  "providerId" text NOT NULL,
  "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE,
  "accessToken" text,
  "refreshToken" text,
  "idToken" text,
  "accessTokenExpiresAt" timestamptz(3),
  "refreshTokenExpiresAt" timestamptz(3),
  "scope" text,
  "password" text,
  "createdAt" timestamptz(3) NOT NULL DEFAULT now(),
  "updatedAt" timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX "account_userId_idx" ON "account" ("userId");

CREATE TABLE "verification" (
  "id" text PRIMARY KEY,
  "identifier" text NOT NULL,
  "value" text NOT NULL,
  "expiresAt" timestamptz(3) NOT NULL,
  "createdAt" timestamptz(3) NOT NULL DEFAULT now(),
  "updatedAt" timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX "verification_identifier_idx" ON "verification" ("identifier");

CREATE TABLE "api_token" (
  "id" text PRIMARY KEY,
  "name" text NOT NULL,
  "kind" text NOT NULL CHECK ("kind" IN ('user', 'agent')),
  "hash" text NOT NULL UNIQUE,
  "prefix" text NOT NULL,
  "userId" text REFERENCES "user" ("id") ON DELETE CASCADE,
  "createdAt" timestamptz(3) NOT NULL DEFAULT now(),
  "expiresAt" timestamptz(3),
  "lastUsedAt" timestamptz(3),
  "revokedAt" timestamptz(3)
);

-- The pool: servers and their GPUs.
CREATE TABLE "server" (
  "id" text PRIMARY KEY,
  "hostname" text NOT NULL,
  "dataAddress" text NOT NULL,
  "certificateFingerprint" text NOT NULL,
  "tls" boolean NOT NULL,
  "driverVersion" text,
  "cudaVersion" text,
  "agentVersion" text,
  "machineId" text,
  "tokenId" text,
  "cordoned" boolean NOT NULL DEFAULT false,
  "createdAt" timestamptz(3) NOT NULL DEFAULT now(),
  "lastSeenAt" timestamptz(3)
);

CREATE TABLE "gpu" (
  "uuid" text PRIMARY KEY,
  "serverId" text NOT NULL REFERENCES "server" ("id"),
  "index" integer NOT NULL,
  "name" text NOT NULL,
  "memoryTotalMib" double precision NOT NULL,
  "computeCapability" text,
  "pciBusId" text,
  "software" boolean NOT NULL,
  "present" boolean NOT NULL DEFAULT true
);
CREATE INDEX "gpu_serverId_idx" ON "gpu" ("serverId");

-- Allocations. The checks repeat what the pool service promises, so that no
-- mistake in it can be written down.
CREATE TABLE "allocation" (
  "id" text PRIMARY KEY,
  "state" text NOT NULL
    CHECK ("state" IN ('queued', 'granted', 'active', 'releasing', 'released', 'expired', 'revoked', 'failed')),
  "version" integer NOT NULL,
  "endState" text CHECK ("endState" IN ('released', 'expired', 'revoked', 'failed')),
  "userId" text,
  "userEmail" text NOT NULL,
  "purpose" text,
  "storedKey" text NOT NULL CHECK ("storedKey" ~ '^[0-9a-f]{64}$'),
  "leaseSeconds" double precision NOT NULL,
  "leaseExpiresAt" timestamptz(3),
  "reason" text,
  "graceMs" integer NOT NULL DEFAULT 0,
  "createdAt" timestamptz(3) NOT NULL,
  "activeAt" timestamptz(3),
  "endingAt" timestamptz(3),
  "endedAt" timestamptz(3),
  CHECK (("state" IN ('released', 'expired', 'revoked', 'failed')) = ("endedAt" IS NOT NULL)),
  CHECK ("state" <> 'releasing' OR "endState" IS NOT NULL)
);
CREATE INDEX "allocation_state_idx" ON "allocation" ("state");
CREATE INDEX "allocation_createdAt_idx" ON "allocation" ("createdAt");

CREATE TABLE "allocation_gpu" (
  "allocationId" text NOT NULL REFERENCES "allocation" ("id") ON DELETE CASCADE,
  "gpuUuid" text NOT NULL REFERENCES "gpu" ("uuid"),
  "ordinal" integer NOT NULL,
  "memoryMib" double precision CHECK ("memoryMib" > 0),
  "readyVersion" integer,
  "provedFreeAt" timestamptz(3),
  PRIMARY KEY ("allocationId", "gpuUuid")
);
CREATE INDEX "allocation_gpu_gpuUuid_idx" ON "allocation_gpu" ("gpuUuid");
-- A whole GPU has one holder at a time.
CREATE UNIQUE INDEX "allocation_gpu_whole_idx" ON "allocation_gpu" ("gpuUuid")
  WHERE "memoryMib" IS NULL AND "provedFreeAt" IS NULL;

CREATE TABLE "task" (
  "serverId" text NOT NULL,
  "id" text NOT NULL,
  "allocationId" text NOT NULL REFERENCES "allocation" ("id") ON DELETE CASCADE,
  "workerPid" integer NOT NULL,
  "command" text NOT NULL,
  "user" text NOT NULL,
  "clientHost" text NOT NULL,
  "clientPid" integer NOT NULL,
  "clientAddress" text,
  "startedAt" timestamptz(3) NOT NULL,
  "endedAt" timestamptz(3),
  "how" text,
  "detail" text,
  "peakBytes" double precision NOT NULL DEFAULT 0,
  "calls" double precision NOT NULL DEFAULT 0,
  "launches" double precision NOT NULL DEFAULT 0,
  "roundTrips" double precision NOT NULL DEFAULT 0,
  "bytesIn" double precision NOT NULL DEFAULT 0,
  "bytesOut" double precision NOT NULL DEFAULT 0,
  PRIMARY KEY ("serverId", "id")
);
CREATE INDEX "task_allocationId_idx" ON "task" ("allocationId");
CREATE INDEX "task_endedAt_idx" ON "task" ("endedAt");
CREATE INDEX "task_startedAt_idx" ON "task" ("startedAt");

CREATE TABLE "telemetry_rollup" (
  "gpuUuid" text NOT NULL,
  "resolutionSeconds" integer NOT NULL,
  "startsAt" timestamptz(3) NOT NULL,
  "utilizationMin" double precision,
  "utilizationMean" double precision,
  "utilizationMax" double precision,
  "utilizationCount" integer NOT NULL,
  "memoryUsedMin" double precision,
  "memoryUsedMean" double precision,
  "memoryUsedMax" double precision,
  "memoryUsedCount" integer NOT NULL,
  "powerMin" double precision,
  "powerMean" double precision,
  "powerMax" double precision,
  "powerCount" integer NOT NULL,
  "temperatureMin" double precision,
  "temperatureMean" double precision,
  "temperatureMax" double precision,
  "temperatureCount" integer NOT NULL,
  PRIMARY KEY ("gpuUuid", "resolutionSeconds", "startsAt")
);

CREATE TABLE "audit_event" (
  "id" serial PRIMARY KEY,
  "at" timestamptz(3) NOT NULL,
  "actorKind" text NOT NULL,
  "actorId" text,
  "actorName" text NOT NULL,
  "address" text,
  "action" text NOT NULL,
  "subject" text NOT NULL,
  "before" jsonb,
  "after" jsonb,
  "reason" text
);
CREATE INDEX "audit_event_subject_idx" ON "audit_event" ("subject");

-- Rows of the audit log are only ever added.
CREATE FUNCTION audit_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_event is append-only';
END
$$;
CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE ON "audit_event"
  FOR EACH ROW EXECUTE FUNCTION audit_event_is_append_only();

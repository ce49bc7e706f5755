// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a graph over a video, or over a moving test pattern, and writes a playable video and a frame
// before and after as PNG.
//
//   run_video GRAPH OUTPUT_FOLDER [VIDEO] [auto|cpu|cuda]
#include <gst/gst.h>
#include <gst/video/video.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

namespace {

template <typename T, auto release> struct Releaser {
  void operator()(T *object) const { release(object); }
};
template <typename T, auto release> using Owned = std::unique_ptr<T, Releaser<T, release>>;
using OwnedElement = Owned<GstElement, gst_object_unref>;
using OwnedPad = Owned<GstPad, gst_object_unref>;
using OwnedSample = Owned<GstSample, gst_sample_unref>;
using OwnedError = Owned<GError, g_error_free>;

/// Keeps one frame that passes a pad: the given one, or the last before it.
struct Snapshot {
  static constexpr int wanted = 100;

  std::string file;
  int seen = 0;
  OwnedSample sample;

  static GstPadProbeReturn on_buffer(GstPad *pad, GstPadProbeInfo *info, gpointer user) {
    auto &self = *static_cast<Snapshot *>(user);
    if (self.seen++ > wanted)
      return GST_PAD_PROBE_OK;
    // A deep copy: the pool that the buffer comes from may be small.
    GstBuffer *copy = gst_buffer_copy_deep(GST_PAD_PROBE_INFO_BUFFER(info));
    GstCaps *caps = gst_pad_get_current_caps(pad);
    self.sample.reset(gst_sample_new(copy, caps, nullptr, nullptr));
    gst_buffer_unref(copy);
    gst_caps_unref(caps);
    return GST_PAD_PROBE_OK;
  }

  void watch(GstElement *element, const char *pad_name) {
    const OwnedPad pad(gst_element_get_static_pad(element, pad_name));
    gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, on_buffer, this, nullptr);
  }

  bool write() const {
    if (sample == nullptr) {
      std::fprintf(stderr, "cannot write %s: no frame came by\n", file.c_str());
      return false;
    }
    GstCaps *png = gst_caps_new_empty_simple("image/png");
    GError *error = nullptr;
    const OwnedSample image(
        gst_video_convert_sample(sample.get(), png, GST_CLOCK_TIME_NONE, &error));
    gst_caps_unref(png);
    if (image == nullptr) {
      const OwnedError owned(error);
      std::fprintf(stderr, "cannot write %s: %s\n", file.c_str(), owned->message);
      return false;
    }
    GstMapInfo map;
    GstBuffer *buffer = gst_sample_get_buffer(image.get());
    if (!gst_buffer_map(buffer, &map, GST_MAP_READ)) {
      std::fprintf(stderr, "cannot write %s: the picture cannot be read\n", file.c_str());
      return false;
    }
    const bool written = g_file_set_contents(
        file.c_str(), reinterpret_cast<const char *>(map.data), static_cast<gssize>(map.size),
        &error);
    gst_buffer_unmap(buffer, &map);
    if (written) {
      std::printf("wrote %s\n", file.c_str());
    } else {
      const OwnedError owned(error);
      std::fprintf(stderr, "cannot write %s: %s\n", file.c_str(), owned->message);
    }
    return written;
  }
};

bool have(const char *element) {
  GstElementFactory *factory = gst_element_factory_find(element);
  if (factory != nullptr)
    gst_object_unref(factory);
  return factory != nullptr;
}

/// What every player shows. From grey frames x264enc would make H.264 High 4:4:4, and it refuses
/// I420 with an odd width or height.
constexpr auto playable =
    "videoconvert ! videoscale ! video/x-raw,format=I420,width=[2,2147483646,2],"
    "height=[2,2147483646,2]";

/// Encoder, muxer and file ending of what this machine has.
std::pair<std::string, std::string> encoder() {
  if (have("x264enc") && have("mp4mux"))
    return {"x264enc speed-preset=veryfast ! h264parse ! mp4mux", "after.mp4"};
  if (have("vp8enc") && have("webmmux"))
    return {"vp8enc deadline=1 target-bitrate=4000000 ! webmmux", "after.webm"};
  return {"jpegenc ! avimux", "after.avi"};
}

/// Until end of stream; false after an error, which is printed.
bool run(GstElement *pipeline) {
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus *bus = gst_element_get_bus(pipeline);
  GstMessage *message = gst_bus_timed_pop_filtered(
      bus, GST_CLOCK_TIME_NONE, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  const bool good = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  if (!good) {
    GError *error = nullptr;
    gchar *detail = nullptr;
    gst_message_parse_error(message, &error, &detail);
    const OwnedError owned(error);
    std::fprintf(stderr, "%s\n%s\n", owned->message, detail != nullptr ? detail : "");
    g_free(detail);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  return good;
}

/// False where no frame came out. Windows give fewer frames than enter, so that is no fault, and
/// the speed is that of the frames that enter.
bool print_stats(GstElement *bin, double seconds) {
  GstStructure *stats = nullptr;
  g_object_get(bin, "stats", &stats, nullptr);
  guint64 in = 0, out = 0;
  gst_structure_get_uint64(stats, "in", &in);
  gst_structure_get_uint64(stats, "out", &out);
  const gchar *device = gst_structure_get_string(stats, "device");
  std::printf(
      "frames in:  %" G_GUINT64_FORMAT "\nframes out: %" G_GUINT64_FORMAT
      "\ndevice:     %s\nspeed:      %.1f frames in per second, decoding and encoding included\n",
      in, out, device, static_cast<double>(in) / seconds);
  gst_structure_free(stats);
  if (out == 0)
    std::fprintf(
        stderr,
        "the graph gave no frame for %" G_GUINT64_FORMAT
        " frames: its windows need more, take a longer video\n",
        in);
  return out > 0;
}

}  // namespace

int main(int argc, char **argv) {
  gst_init(&argc, &argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: run_video GRAPH OUTPUT_FOLDER [VIDEO] [auto|cpu|cuda]\n");
    return 2;
  }
  const std::string graph = argv[1], folder = argv[2];
  const std::string video = argc > 3 ? argv[3] : "", device = argc > 4 ? argv[4] : "auto";
  const auto [encode, file] = encoder();
  const std::string source = video.empty()
      ? "videotestsrc pattern=ball num-buffers=250 ! video/x-raw,width=640,height=360,"
        "framerate=25/1 ! videoconvert"
      : "filesrc name=file ! decodebin ! videoconvert";
  const auto description = source + " ! holoflowbin name=graph ! queue ! " + playable + " ! " +
      encode + " ! filesink name=result";
  GError *error = nullptr;
  const OwnedElement pipeline(gst_parse_launch(description.c_str(), &error));
  const OwnedError owned_error(error);
  if (pipeline == nullptr || error != nullptr) {
    std::fprintf(stderr, "%s\n", error != nullptr ? error->message : "cannot build the pipeline");
    return 1;
  }
  const auto child = [&](const char *name) {
    return OwnedElement(gst_bin_get_by_name(GST_BIN(pipeline.get()), name));
  };
  const auto bin = child("graph");
  gst_util_set_object_arg(G_OBJECT(bin.get()), "device", device.c_str());
  g_object_set(bin.get(), "graph", graph.c_str(), nullptr);
  g_object_set(child("result").get(), "location", (folder + "/" + file).c_str(), nullptr);
  if (!video.empty())
    g_object_set(child("file").get(), "location", video.c_str(), nullptr);

  Snapshot before{.file = folder + "/before.png", .sample = {}};
  Snapshot after{.file = folder + "/after.png", .sample = {}};
  before.watch(bin.get(), "sink");
  after.watch(bin.get(), "src");
  const auto begin = std::chrono::steady_clock::now();
  const bool ran = run(pipeline.get());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  bool good = ran && print_stats(bin.get(), seconds.count());
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  if (!ran)
    return 1;
  good = before.write() && after.write() && good;
  std::printf("wrote %s/%s\n", folder.c_str(), file.c_str());
  return good ? 0 : 1;
}
